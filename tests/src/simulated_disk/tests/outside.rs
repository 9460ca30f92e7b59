//! Rot, and other people's hands.

use super::*;

#[test]
fn a_flipped_bit_is_seen_by_all_and_survives() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[0; 600], 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[0; 600], 0).unwrap();
    disk.flip_bit(path("/f"), 599, 7).unwrap();
    let mut expected = vec![0; 600];
    expected[599] = 0x80;
    assert_eq!(disk.contents(path("/f")).unwrap(), expected);
    let mut read = [0; 600];
    file.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(read[..], expected);
    for policy in CrashPolicy::ALL {
        assert_eq!(after_crash(&disk, policy, 1, "/f"), expected, "{policy:?}");
    }
    file.sync_data().unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 1, "/f"), expected);
    let before = disk.killed_image(disk.operation_count() - 2).unwrap();
    assert_eq!(before.contents(path("/f")).unwrap(), [0; 600], "the history is not touched");
    disk.flip_bit(path("/f"), 599, 7).unwrap();
    assert_eq!(disk.contents(path("/f")).unwrap(), [0; 600]);
    assert!(disk.flip_bit(path("/f"), 600, 0).is_err());
    assert!(disk.flip_bit(path("/f"), 0, 8).is_err());
    assert!(disk.flip_bit(path("/none"), 0, 0).is_err());
}

#[test]
fn a_replaced_file_is_another_file() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"mine", 0).unwrap();
    let mine = file.identity().unwrap();
    assert!(mine.is_same_file(&disk.identity(path("/f")).unwrap()));
    assert_eq!(mine.bytes, 4);

    disk.put(path("/f"), b"theirs").unwrap();
    assert!(!mine.is_same_file(&disk.identity(path("/f")).unwrap()));
    assert!(mine.is_same_file(&file.identity().unwrap()));
    let mut read = [0; 4];
    file.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(&read, b"mine");
    file.write_all_at(b"into nothing", 0).unwrap();
    file.sync_all().unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::Everything, 0, "/f"), b"theirs");
}

#[test]
fn an_unlinked_or_renamed_file_is_missing_at_its_path() {
    let (disk, file) = disk_with_file("/f");
    disk.unlink(path("/f")).unwrap();
    assert_eq!(disk.identity(path("/f")).unwrap_err().kind(), io::ErrorKind::NotFound);
    file.write_all_at(b"x", 0).unwrap();
    assert_eq!(
        disk.crash_image(disk.operation_count(), CrashPolicy::OnlySynced, 0).unwrap().paths().len(),
        0
    );

    disk.put(path("/f"), b"").unwrap();
    assert!(
        !file.identity().unwrap().is_same_file(&disk.identity(path("/f")).unwrap()),
        "never the same number"
    );
}

#[test]
fn a_cut_from_outside_is_seen_through_open_handles() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"long", 0).unwrap();
    disk.open(path("/f"), OpenMode::Write).unwrap().set_len(2).unwrap();
    assert_eq!(file.len().unwrap(), 2);
    assert_eq!(file.read_at(&mut [0; 4], 0).unwrap(), 2);
}

#[test]
fn setting_up_is_durable_at_once() {
    let disk = SimulatedDisk::new(1);
    disk.make_folders(path("/data/ledgers")).unwrap();
    disk.make_folders(path("/data/ledgers")).unwrap();
    disk.put(path("/data/ledgers/f"), b"it").unwrap();
    disk.set_mode(path("/data/ledgers/f"), 0o644).unwrap();
    let image = disk.crash_image(disk.operation_count(), CrashPolicy::OnlySynced, 0).unwrap();
    assert_eq!(everything(&image), everything(&disk));
    assert_eq!(image.paths().len(), 3);
    assert_eq!(image.mode(path("/data/ledgers/f")), Some(0o644));
    assert_eq!(image.mode(path("/data/ledgers")), Some(0o700));
    assert_eq!(image.mode(path("/none")), None);
    assert!(disk.make_folders(path("/data/ledgers/f/g")).is_err());
    assert!(disk.put(path("/data"), b"").is_err(), "a folder is not replaced");
}
