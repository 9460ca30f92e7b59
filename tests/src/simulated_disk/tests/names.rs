//! Tests of the names that a crash may take, and of those it may not.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;

/// All sets of names that crashes right now may leave.
fn surviving_names(disk: &SimulatedDisk, policy: CrashPolicy) -> BTreeSet<Vec<String>> {
    (0..300)
        .map(|seed| {
            let image = disk.crash_image(disk.operation_count(), policy, seed).unwrap();
            image.paths().iter().map(|path: &PathBuf| path.to_string_lossy().into_owned()).collect()
        })
        .collect()
}

fn sets<const N: usize>(names: [&[&str]; N]) -> BTreeSet<Vec<String>> {
    names.into_iter().map(|set| set.iter().map(ToString::to_string).collect()).collect()
}

fn create(disk: &SimulatedDisk, name: &str, contents: &[u8]) {
    let file = disk.open(path(name), OpenMode::CreateNew).unwrap();
    file.write_all_at(contents, 0).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn a_synced_file_is_lost_with_its_name_until_the_folder_is_synced() {
    let disk = SimulatedDisk::new(1);
    create(&disk, "/f", b"synced");
    assert_eq!(surviving_names(&disk, CrashPolicy::OnlySynced), sets([&[]]));
    assert_eq!(surviving_names(&disk, CrashPolicy::Everything), sets([&["/f"]]));
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&[], &["/f"]]));
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&["/f"]]));
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"synced");
}

#[test]
fn a_folder_sync_makes_names_durable_and_no_contents() {
    let disk = SimulatedDisk::new(1);
    let file = disk.open(path("/f"), OpenMode::CreateNew).unwrap();
    file.write_all_at(b"unsynced", 0).unwrap();
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"");
}

#[test]
fn a_folder_needs_its_own_name_synced_too() {
    let disk = SimulatedDisk::new(1);
    disk.create_folder(path("/d")).unwrap();
    create(&disk, "/d/f", b"");
    disk.sync_folder(path("/d")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::OnlySynced), sets([&[]]));
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&[], &["/d", "/d/f"]]));
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&["/d", "/d/f"]]));

    create(&disk, "/d/g", b"");
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(
        surviving_names(&disk, CrashPolicy::Random),
        sets([&["/d", "/d/f"], &["/d", "/d/f", "/d/g"]]),
        "syncing the parent does not sync what is in the child"
    );
}

#[test]
fn names_survive_each_on_its_own() {
    let disk = SimulatedDisk::new(1);
    create(&disk, "/a", b"");
    create(&disk, "/b", b"");
    disk.sync_folder(path("/")).unwrap();
    create(&disk, "/c", b"");
    disk.remove_file(path("/a")).unwrap();
    assert_eq!(
        surviving_names(&disk, CrashPolicy::Random),
        sets([&["/a", "/b"], &["/a", "/b", "/c"], &["/b"], &["/b", "/c"]])
    );
}

#[test]
fn a_removed_file_may_come_back_with_what_was_durable_of_it() {
    let disk = SimulatedDisk::new(1);
    disk.put(path("/f"), b"durable").unwrap();
    disk.open(path("/f"), OpenMode::Write).unwrap().write_all_at(b"UNSYNCED", 0).unwrap();
    disk.remove_file(path("/f")).unwrap();
    assert!(!disk.exists(path("/f")).unwrap());
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"durable");
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&[]]));
}

#[test]
fn a_renamed_file_is_never_at_two_places_and_never_at_none() {
    let disk = SimulatedDisk::new(1);
    disk.put(path("/old"), b"it").unwrap();
    disk.rename(path("/old"), path("/new")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::OnlySynced), sets([&["/old"]]));
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&["/old"], &["/new"]]));
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&["/new"]]));
}

#[test]
fn a_rename_survives_only_with_the_rename_before_it() {
    let disk = SimulatedDisk::new(1);
    disk.put(path("/a"), b"it").unwrap();
    disk.rename(path("/a"), path("/b")).unwrap();
    disk.rename(path("/b"), path("/c")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&["/a"], &["/b"], &["/c"]]));
}

#[test]
fn a_replacing_rename_leaves_the_old_or_the_new() {
    let disk = SimulatedDisk::new(1);
    disk.put(path("/f"), b"old").unwrap();
    create(&disk, "/f.new", b"new");
    disk.rename(path("/f.new"), path("/f")).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..300 {
        let image = disk.crash_image(disk.operation_count(), CrashPolicy::Random, seed).unwrap();
        let contents = image.contents(path("/f")).unwrap();
        seen.insert((contents, image.exists(path("/f.new")).unwrap()));
    }
    let expected = [(b"old".to_vec(), false), (b"old".to_vec(), true), (b"new".to_vec(), false)];
    assert_eq!(seen, BTreeSet::from(expected), "a rename rests on the creation before it");
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"new");
}

#[test]
fn an_unsynced_file_renamed_into_place_may_be_empty() {
    let disk = SimulatedDisk::new(1);
    disk.put(path("/f"), b"old").unwrap();
    let file = disk.open(path("/f.new"), OpenMode::CreateNew).unwrap();
    file.write_all_at(b"new", 0).unwrap();
    disk.rename(path("/f.new"), path("/f")).unwrap();
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"", "the classic");
}

#[test]
fn a_rename_between_folders_needs_both_synced() {
    let disk = SimulatedDisk::new(1);
    disk.make_folders(path("/a")).unwrap();
    disk.make_folders(path("/b")).unwrap();
    disk.put(path("/a/f"), b"it").unwrap();
    let (before, after) = (&["/a", "/a/f", "/b"] as &[&str], &["/a", "/b", "/b/f"] as &[&str]);
    disk.rename(path("/a/f"), path("/b/f")).unwrap();
    for folder in ["/b", "/"] {
        disk.sync_folder(path(folder)).unwrap();
        assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([before, after]), "{folder} synced");
    }
    disk.sync_folder(path("/a")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([after]));
}

#[test]
fn a_folder_is_renamed_with_all_it_holds() {
    let disk = SimulatedDisk::new(1);
    disk.create_folder(path("/tmp")).unwrap();
    create(&disk, "/tmp/f", b"it");
    disk.sync_folder(path("/tmp")).unwrap();
    disk.rename(path("/tmp"), path("/main")).unwrap();
    assert_eq!(disk.contents(path("/main/f")).unwrap(), b"it");
    assert_eq!(
        surviving_names(&disk, CrashPolicy::Random),
        sets([&[], &["/tmp", "/tmp/f"], &["/main", "/main/f"]])
    );
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&["/main", "/main/f"]]));
}

#[test]
fn a_durable_name_brings_along_what_it_rests_on() {
    let disk = SimulatedDisk::new(1);
    disk.make_folders(path("/a")).unwrap();
    disk.put(path("/a/f"), b"it").unwrap();
    disk.rename(path("/a/f"), path("/f")).unwrap();
    create(&disk, "/a/f", b"another");
    disk.sync_folder(path("/a")).unwrap();
    // Else the first file would have lost its old name and have no new one.
    assert_eq!(surviving_names(&disk, CrashPolicy::Random), sets([&["/a", "/a/f", "/f"]]));
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"it");
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/a/f"), b"another");
}

#[test]
fn an_open_file_keeps_its_contents_without_a_name() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"still here", 0).unwrap();
    disk.remove_file(path("/f")).unwrap();
    let mut buf = [0; 10];
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"still here");
    assert!(disk.used_bytes() > 0, "its space is taken until it is closed");
    drop(file);
    assert_eq!(disk.used_bytes(), 0);
}

#[test]
fn a_lock_lasts_as_long_as_its_value_and_no_crash_keeps_it() {
    let disk = SimulatedDisk::new(1);
    let lock = disk.lock(path("/lock")).unwrap();
    assert_eq!(disk.lock(path("/lock")).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    disk.lock(path("/other")).unwrap();
    let image = disk.crash_image(disk.operation_count(), CrashPolicy::Everything, 0).unwrap();
    drop(image.lock(path("/lock")).unwrap());
    drop(disk.killed_image(disk.operation_count()).unwrap().lock(path("/lock")).unwrap());
    assert!(disk.lock(path("/lock")).is_err(), "another disk's lock is another lock");
    drop(lock);
    let again = disk.lock(path("/lock")).unwrap();
    assert!(disk.lock(path("/lock")).is_err());
    drop(again);
}
