//! Tests of the contents that a crash may take, and of those it may not.

use std::collections::BTreeSet;

use super::super::content::{PAGE_BYTES, SECTOR_BYTES};
use super::*;

const SECTOR: usize = SECTOR_BYTES as usize;

#[test]
fn a_sync_makes_durable_and_nothing_else_does() {
    for sync in [<dyn DiskFile>::sync_data, <dyn DiskFile>::sync_all] {
        let (disk, file) = disk_with_file("/f");
        file.write_all_at(b"one", 0).unwrap();
        assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"");
        assert_eq!(after_crash(&disk, CrashPolicy::Everything, 0, "/f"), b"one");
        assert_eq!(disk.contents(path("/f")).unwrap(), b"one");
        assert_eq!(disk.durable_contents(path("/f")).unwrap(), b"");

        sync(&*file).unwrap();
        file.write_all_at(b"two", 3).unwrap();
        assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"one");
        assert_eq!(after_crash(&disk, CrashPolicy::Everything, 0, "/f"), b"onetwo");
        for seed in 0..200 {
            assert!(after_crash(&disk, CrashPolicy::Random, seed, "/f").starts_with(b"one"), "seed {seed}");
        }
        drop(file);
        assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"one", "closing syncs nothing");
    }
}

#[test]
fn a_sync_of_one_file_does_nothing_for_another() {
    let (disk, file) = disk_with_file("/f");
    disk.put(path("/g"), b"").unwrap();
    let other = disk.open(path("/g"), OpenMode::Write).unwrap();
    other.write_all_at(b"other", 0).unwrap();
    file.sync_all().unwrap();
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/g"), b"");
}

#[test]
fn a_sync_through_any_handle_counts() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"one", 0).unwrap();
    disk.open(path("/f"), OpenMode::Read).unwrap().sync_data().unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"one");
}

#[test]
fn every_subset_of_the_sectors_of_a_write_can_survive() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[0xaa; 4 * SECTOR], 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[0xbb; 4 * SECTOR], 0).unwrap();
    let seen: BTreeSet<Vec<u8>> = outcomes(&disk, "/f", 3_000)
        .into_iter()
        .map(|bytes| {
            assert_eq!(bytes.len(), 4 * SECTOR);
            for sector in bytes.chunks(SECTOR) {
                assert!(sector.iter().all(|byte| *byte == sector[0]), "a torn sector");
            }
            bytes.chunks(SECTOR).map(|sector| sector[0]).collect()
        })
        .collect();
    assert_eq!(seen.len(), 16, "{seen:02x?}");
}

#[test]
fn a_later_write_can_survive_an_earlier_one_also_within_a_sector() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[0; 2 * SECTOR], 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(b"a", 0).unwrap();
    file.write_all_at(b"b", SECTOR_BYTES).unwrap();
    file.write_all_at(b"c", 1).unwrap();
    let seen: BTreeSet<(u8, u8, u8)> =
        outcomes(&disk, "/f", 2_000).into_iter().map(|bytes| (bytes[0], bytes[1], bytes[SECTOR])).collect();
    let expected: BTreeSet<_> =
        [(0, 0), (b'a', 0), (b'a', b'c')].into_iter().flat_map(|(a, c)| [(a, c, 0), (a, c, b'b')]).collect();
    assert_eq!(seen, expected, "a sector is kept as it once was; sectors in any order");
}

#[test]
fn a_file_that_grows_may_keep_its_old_length_or_have_zeros() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"x", 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[7; SECTOR], SECTOR_BYTES).unwrap();
    let mut with_zeros = vec![b'x'];
    with_zeros.resize(2 * SECTOR, 0);
    let mut whole = with_zeros.clone();
    whole[SECTOR..].fill(7);
    assert_eq!(outcomes(&disk, "/f", 500), BTreeSet::from([b"x".to_vec(), with_zeros, whole]));
}

#[test]
fn a_new_length_comes_with_the_next_sync() {
    let (disk, file) = disk_with_file("/f");
    file.set_len(10).unwrap();
    assert_eq!(file.len().unwrap(), 10);
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"");
    assert_eq!(outcomes(&disk, "/f", 100), BTreeSet::from([vec![], vec![0; 10]]));
    file.sync_data().unwrap();
    assert_eq!(outcomes(&disk, "/f", 100), BTreeSet::from([vec![0; 10]]));
}

#[test]
fn what_was_cut_off_never_shows_again_in_a_file_that_grew_back() {
    let (disk, file) = disk_with_file("/f");
    let bytes = 3 * PAGE_BYTES as usize;
    file.write_all_at(&vec![0xaa; bytes], 0).unwrap();
    file.sync_data().unwrap();
    file.set_len(700).unwrap();
    file.set_len(bytes as u64).unwrap();
    let mut cut = vec![0xaa; 700];
    let short = cut.clone();
    cut.resize(bytes, 0);
    assert_eq!(outcomes(&disk, "/f", 500), BTreeSet::from([vec![0xaa; bytes], short, cut.clone()]));
    file.sync_data().unwrap();
    assert_eq!(outcomes(&disk, "/f", 100), BTreeSet::from([cut]));
}

#[test]
fn what_was_cut_off_is_gone_after_a_sync_even_within_a_sector() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[0xaa; SECTOR], 0).unwrap();
    file.sync_data().unwrap();
    file.set_len(100).unwrap();
    file.sync_data().unwrap();
    file.set_len(300).unwrap();
    file.sync_data().unwrap();
    let mut expected = vec![0xaa; 100];
    expected.resize(300, 0);
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), expected);
    assert_eq!(disk.contents(path("/f")).unwrap(), expected);
}

#[test]
fn images_can_be_had_of_any_moment_in_any_order() {
    let (disk, file) = disk_with_file("/f");
    let start = disk.operation_count();
    for number in 1..=5_u8 {
        file.write_all_at(&[number], 0).unwrap();
        file.sync_data().unwrap();
    }
    let at = |operation: u64| {
        let image = disk.crash_image(start + operation, CrashPolicy::OnlySynced, 0).unwrap();
        image.contents(path("/f")).unwrap()
    };
    let expected: [&[u8]; 11] = [b"", b"", &[1], &[1], &[2], &[2], &[3], &[3], &[4], &[4], &[5]];
    for operation in [0, 10, 3, 4, 9, 1, 2, 2, 8, 5, 6, 7] {
        assert_eq!(at(operation), expected[operation as usize], "after operation {operation}");
    }
    assert!(disk.crash_image(start + 11, CrashPolicy::OnlySynced, 0).is_err(), "the future");
}

#[test]
fn forgetting_keeps_numbers_and_what_is_durable() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"a", 0).unwrap();
    let before = disk.operation_count();
    disk.forget_operations();
    assert_eq!((disk.operation_count(), disk.operations().len()), (before, 0));
    file.write_all_at(b"b", 1).unwrap();
    assert_eq!(disk.operations()[0].number, before + 1);
    assert!(disk.crash_image(before - 1, CrashPolicy::OnlySynced, 0).is_err());
    let image = disk.crash_image(before, CrashPolicy::Everything, 0).unwrap();
    assert_eq!(image.contents(path("/f")).unwrap(), b"a");
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"");
}

#[test]
fn an_image_is_a_disk_of_its_own_and_can_crash_again() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"first", 0).unwrap();
    file.sync_data().unwrap();
    let image = disk.crash_image(disk.operation_count(), CrashPolicy::OnlySynced, 0).unwrap();
    assert_eq!(image.operation_count(), 0);
    let reopened = image.open(path("/f"), OpenMode::Write).unwrap();
    reopened.write_all_at(b"SECOND", 0).unwrap();
    assert_eq!(disk.contents(path("/f")).unwrap(), b"first");
    assert_eq!(after_crash(&image, CrashPolicy::OnlySynced, 0, "/f"), b"first");
    reopened.sync_data().unwrap();
    assert_eq!(after_crash(&image, CrashPolicy::OnlySynced, 0, "/f"), b"SECOND");
    let twice = image.crash_image(1, CrashPolicy::OnlySynced, 0).unwrap();
    assert_eq!(twice.contents(path("/f")).unwrap(), b"first");
}

#[test]
fn one_seed_gives_one_image() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[1; 64 * SECTOR], 0).unwrap();
    for seed in 0..20 {
        let at = disk.operation_count();
        let one = disk.crash_image(at, CrashPolicy::Random, seed).unwrap();
        let other = disk.crash_image(at, CrashPolicy::Random, seed).unwrap();
        assert_eq!(everything(&one), everything(&other));
    }
    assert!(outcomes(&disk, "/f", 50).len() > 20, "seeds make a difference");
}

#[test]
fn a_killed_process_leaves_everything_readable_and_nothing_more_durable() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"unsynced", 0).unwrap();
    let killed = disk.killed_image(disk.operation_count()).unwrap();
    assert_eq!(killed.contents(path("/f")).unwrap(), b"unsynced");
    assert_eq!(after_crash(&killed, CrashPolicy::OnlySynced, 0, "/f"), b"");
    killed.open(path("/f"), OpenMode::Read).unwrap().sync_data().unwrap();
    assert_eq!(after_crash(&killed, CrashPolicy::OnlySynced, 0, "/f"), b"unsynced");
}

#[test]
fn a_crash_frees_what_had_no_durable_name() {
    let disk = SimulatedDisk::new(1);
    disk.open(path("/f"), OpenMode::CreateNew).unwrap().write_all_at(&[1; 9_000], 0).unwrap();
    assert_eq!(disk.used_bytes(), 3 * PAGE_BYTES);
    let image = disk.crash_image(disk.operation_count(), CrashPolicy::OnlySynced, 0).unwrap();
    assert_eq!(image.used_bytes(), 0);
}

#[test]
fn operations_say_what_was_called() {
    let (disk, file) = disk_with_file("/f");
    disk.forget_operations();
    file.write_all_at(b"abc", 5).unwrap();
    file.sync_data().unwrap();
    file.set_len(3).unwrap();
    let mut buf = [0; 1];
    file.read_at(&mut buf, 0).unwrap();
    let told: Vec<_> = disk
        .operations()
        .into_iter()
        .map(|operation| (operation.call, operation.path, operation.offset, operation.bytes, operation.error))
        .collect();
    use super::super::DiskCall;
    let here = || path("/f").to_owned();
    let expected = [
        (DiskCall::Write, here(), 5, 3, None),
        (DiskCall::SyncData, here(), 0, 0, None),
        (DiskCall::SetLen, here(), 3, 0, None),
    ];
    assert_eq!(told, expected);
}
