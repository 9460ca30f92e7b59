//! Calls that fail on purpose, full disks, and disks that lie.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::super::content::PAGE_BYTES;
use super::super::errno::{EIO, ENOSPC, EROFS};
use super::super::{DiskCall, DiskFault, Effect, FalseSync};
use super::*;

const PAGE: usize = PAGE_BYTES as usize;

#[test]
fn the_nth_call_fails_and_no_other() {
    let (disk, file) = disk_with_file("/f");
    disk.inject(DiskFault::on(DiskCall::Write, 3, EIO));
    let results: Vec<bool> = (0..5).map(|at| file.write_all_at(b"x", at).is_ok()).collect();
    assert_eq!(results, [true, true, false, true, true]);
    assert_eq!(disk.contents(path("/f")).unwrap(), b"xx\0xx", "without effect");
    assert_eq!(disk.pending_faults(), 0);
    assert_eq!(disk.calls(DiskCall::Write), 5);
}

#[test]
fn faults_count_by_kind_and_path() {
    let (disk, file) = disk_with_file("/f");
    disk.put(path("/g"), b"").unwrap();
    let other = disk.open(path("/g"), OpenMode::Write).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncData, 2, EIO).or(DiskCall::SyncAll).where_path_has("/g"));
    file.sync_data().unwrap();
    file.sync_data().unwrap();
    other.write_all_at(b"x", 0).unwrap();
    other.sync_all().unwrap();
    assert_eq!(disk.pending_faults(), 1);
    assert_eq!(errno_of(other.sync_data()), EIO);
    other.sync_data().unwrap();
}

#[test]
fn a_lasting_fault_lasts_until_it_is_cleared() {
    let (disk, file) = disk_with_file("/f");
    disk.inject(DiskFault::on(DiskCall::Read, 2, EIO).lasting());
    let mut buf = [0; 1];
    file.read_at(&mut buf, 0).unwrap();
    for _ in 0..3 {
        assert_eq!(errno_of(file.read_at(&mut buf, 0)), EIO);
    }
    disk.clear_faults();
    file.read_at(&mut buf, 0).unwrap();
}

#[test]
fn two_faults_strike_at_their_own_time() {
    let (disk, file) = disk_with_file("/f");
    disk.inject(DiskFault::on(DiskCall::SetLen, 1, EIO));
    disk.inject(DiskFault::on(DiskCall::SetLen, 2, ENOSPC));
    assert_eq!(errno_of(file.set_len(1)), EIO);
    assert_eq!(errno_of(file.set_len(1)), ENOSPC);
    file.set_len(1).unwrap();
}

/// Does one call of each kind that changes names or lengths, on a disk prepared for it.
fn call_each(disk: &SimulatedDisk, call: DiskCall) -> io::Result<()> {
    match call {
        DiskCall::CreateNew => disk.open(path("/new"), OpenMode::CreateNew).map(drop),
        DiskCall::CreateFolder => disk.create_folder(path("/new")),
        DiskCall::Rename => disk.rename(path("/f"), path("/new")),
        DiskCall::RemoveFile => disk.remove_file(path("/f")),
        DiskCall::RemoveFolder => disk.remove_folder(path("/d")),
        DiskCall::SetLen => disk.open(path("/f"), OpenMode::Write)?.set_len(1),
        DiskCall::Write => disk.open(path("/f"), OpenMode::Write)?.write_all_at(b"WXYZ", 0),
        other => unreachable!("{other:?}"),
    }
}

const CHANGING_CALLS: [DiskCall; 7] = [
    DiskCall::CreateNew,
    DiskCall::CreateFolder,
    DiskCall::Rename,
    DiskCall::RemoveFile,
    DiskCall::RemoveFolder,
    DiskCall::SetLen,
    DiskCall::Write,
];

fn prepared() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    disk.put(path("/f"), b"abcd").unwrap();
    disk.make_folders(path("/d")).unwrap();
    disk
}

#[test]
fn every_change_can_fail_without_and_with_effect() {
    for call in CHANGING_CALLS {
        let done = prepared();
        call_each(&done, call).unwrap();
        assert_ne!(everything(&done), everything(&prepared()), "{call:?}");
        for (effect, expected) in [(Effect::Without, prepared()), (Effect::With, done.clone())] {
            let disk = prepared();
            disk.inject(DiskFault::on(call, 1, EIO).effect(effect));
            assert_eq!(errno_of(call_each(&disk, call)), EIO, "{call:?}");
            assert_eq!(everything(&disk), everything(&expected), "{call:?} {effect:?}");
            let told = disk.operations().pop().unwrap();
            assert_eq!((told.call, told.error), (call, Some(io::Error::from_raw_os_error(EIO).kind())));
            let replayed = disk.killed_image(disk.operation_count() - 1).unwrap();
            assert_eq!(everything(&replayed), everything(&prepared()));
        }
    }
}

#[test]
fn a_write_can_fail_halfway() {
    let disk = prepared();
    disk.inject(DiskFault::on(DiskCall::Write, 1, ENOSPC).effect(Effect::Partly));
    assert_eq!(errno_of(call_each(&disk, DiskCall::Write)), ENOSPC);
    assert_eq!(disk.contents(path("/f")).unwrap(), b"WXcd");
}

#[test]
fn calls_that_change_nothing_can_fail() {
    let (disk, file) = disk_with_file("/f");
    let mut buf = [0; 1];
    for call in [DiskCall::Open, DiskCall::Read, DiskCall::Stat, DiskCall::List, DiskCall::Lock] {
        disk.inject(DiskFault::on(call, 1, EIO));
        let result = match call {
            DiskCall::Open => disk.open(path("/f"), OpenMode::Read).map(drop),
            DiskCall::Read => file.read_at(&mut buf, 0).map(drop),
            DiskCall::Stat => disk.identity(path("/f")).map(drop),
            DiskCall::List => disk.list(path("/")).map(drop),
            _ => disk.lock(path("/f")).map(drop),
        };
        assert_eq!(errno_of(result), EIO, "{call:?}");
    }
    disk.inject(DiskFault::on(DiskCall::Stat, 1, EIO).lasting());
    assert_eq!(errno_of(file.len()), EIO);
    assert_eq!(errno_of(file.identity()), EIO);
    assert_eq!(errno_of(disk.exists(path("/f"))), EIO);
    assert_eq!(disk.mode(path("/f")), None);
}

#[test]
fn after_a_failed_sync_the_next_says_ok_and_the_write_is_lost() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[1; 1_024], 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[2; 1_024], 0).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO));
    assert_eq!(errno_of(file.sync_data()), EIO);
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    assert_eq!(disk.contents(path("/f")).unwrap(), [2; 1_024], "the cache shows what the disk lacks");
    for policy in CrashPolicy::ALL {
        assert_eq!(after_crash(&disk, policy, 5, "/f"), [1; 1_024], "{policy:?}");
    }

    let killed = disk.killed_image(disk.operation_count()).unwrap();
    assert_eq!(killed.contents(path("/f")).unwrap(), [2; 1_024], "a new process still sees the cache");
    assert_eq!(after_crash(&killed, CrashPolicy::Everything, 0, "/f"), [1; 1_024]);

    file.write_all_at(&[3; 512], 512).unwrap();
    file.sync_data().unwrap();
    let expected = [[1; 512], [3; 512]].concat();
    assert_eq!(
        after_crash(&disk, CrashPolicy::Everything, 0, "/f"),
        expected,
        "what is written again is safe"
    );
    file.write_all_at(&[2; 512], 0).unwrap();
    file.sync_data().unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), [[2; 512], [3; 512]].concat());
}

#[test]
fn what_a_failed_sync_lost_shows_once_the_cache_forgets_it() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[1; 1_536], 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[2; 1_536], 0).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO));
    file.sync_data().unwrap_err();
    file.write_all_at(&[3], 600).unwrap();
    disk.evict_clean_pages();
    let mut expected = [[1; 512], [2; 512], [1; 512]].concat();
    expected[600] = 3;
    assert_eq!(disk.contents(path("/f")).unwrap(), expected, "dirty sectors stay");
    file.sync_data().unwrap();
    disk.evict_clean_pages();
    assert_eq!(disk.contents(path("/f")).unwrap(), expected);
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), expected);
}

#[test]
fn a_failed_sync_loses_a_new_length_until_a_write_needs_it() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[1; 512], 0).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncAll, 1, EIO));
    assert_eq!(errno_of(file.sync_all()), EIO);
    file.sync_data().unwrap();
    assert_eq!(file.len().unwrap(), 512);
    assert_eq!(after_crash(&disk, CrashPolicy::Everything, 0, "/f"), b"");
    file.write_all_at(&[2; 512], 512).unwrap();
    file.sync_data().unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), [[0; 512], [2; 512]].concat());

    let (disk, file) = disk_with_file("/f");
    file.set_len(2_000).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO));
    file.sync_data().unwrap_err();
    file.write_all_at(&[4; 10], 100).unwrap();
    file.sync_data().unwrap();
    let durable = after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f");
    assert_eq!(durable, [vec![0; 100], vec![4; 10]].concat(), "a good sync keeps what was written for it");
    disk.evict_clean_pages();
    assert_eq!(disk.contents(path("/f")).unwrap(), durable);
}

#[test]
fn what_was_lost_past_the_durable_end_does_not_show_when_the_file_grows() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[1; 512], 0).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO));
    file.sync_data().unwrap_err();
    file.write_all_at(&[4; 10], 100).unwrap();
    file.sync_data().unwrap();
    let mut expected = [vec![1; 100], vec![4; 10]].concat();
    assert_eq!(disk.durable_contents(path("/f")).unwrap(), expected);
    file.set_len(600).unwrap();
    file.sync_data().unwrap();
    expected.resize(600, 0);
    assert_eq!(disk.durable_contents(path("/f")).unwrap(), expected);
}

#[test]
fn a_failed_sync_may_have_written_all_the_same() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"here", 0).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO).effect(Effect::With));
    assert_eq!(errno_of(file.sync_data()), EIO);
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"here");
}

#[test]
fn a_failed_sync_may_have_written_some_sectors() {
    let mut counts = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let disk = SimulatedDisk::new(seed);
        disk.put(path("/f"), &[1; 16 * 512]).unwrap();
        let file = disk.open(path("/f"), OpenMode::Write).unwrap();
        file.write_all_at(&[2; 16 * 512], 0).unwrap();
        disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO).effect(Effect::Partly));
        file.sync_data().unwrap_err();
        file.sync_data().unwrap();
        let left = after_crash(&disk, CrashPolicy::Everything, 0, "/f");
        counts.insert(left.chunks(512).filter(|sector| sector[0] == 2).count());
        assert!(left.chunks(512).all(|sector| sector == [1; 512] || sector == [2; 512]));
        assert_eq!(disk.contents(path("/f")).unwrap(), [2; 16 * 512]);
    }
    assert!(counts.len() > 3 && counts.iter().all(|count| (1..16).contains(count)), "{counts:?}");
}

#[test]
fn a_failed_sync_of_a_cut_has_cut_or_has_not() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let disk = SimulatedDisk::new(seed);
        disk.put(path("/f"), &[1; 4 * 512]).unwrap();
        let file = disk.open(path("/f"), OpenMode::Write).unwrap();
        file.set_len(512).unwrap();
        file.set_len(4 * 512).unwrap();
        disk.inject(DiskFault::on(DiskCall::SyncData, 1, EIO).effect(Effect::Partly));
        file.sync_data().unwrap_err();
        let left = disk.durable_contents(path("/f")).unwrap();
        seen.insert(left.chunks(512).map(|sector| sector[0]).collect::<Vec<_>>());
    }
    assert_eq!(seen, [vec![1, 0, 0, 0], vec![1, 1, 1, 1]].into());
}

#[test]
fn a_failed_folder_sync_loses_names_for_good() {
    let disk = SimulatedDisk::new(1);
    disk.put(path("/f"), b"it").unwrap();
    disk.rename(path("/f"), path("/g")).unwrap();
    disk.inject(DiskFault::on(DiskCall::SyncFolder, 1, EIO));
    assert_eq!(errno_of(disk.sync_folder(path("/"))), EIO);
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(disk.contents(path("/g")).unwrap(), b"it");
    for policy in CrashPolicy::ALL {
        assert_eq!(after_crash(&disk, policy, 3, "/f"), b"it", "{policy:?}");
    }
    disk.inject(DiskFault::on(DiskCall::SyncFolder, 1, EIO).effect(Effect::With));
    disk.rename(path("/g"), path("/h")).unwrap();
    assert_eq!(errno_of(disk.sync_folder(path("/"))), EIO);
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 3, "/h"), b"it");
}

#[test]
fn a_lying_disk_syncs_nothing_and_says_ok() {
    let (disk, file) = disk_with_file("/f");
    disk.set_false_sync(FalseSync::File, true);
    file.write_all_at(b"lost", 0).unwrap();
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"");
    assert_eq!(after_crash(&disk, CrashPolicy::Everything, 0, "/f"), b"lost");
    assert_eq!(disk.calls(DiskCall::SyncData), 1);
    disk.set_false_sync(FalseSync::File, false);
    file.sync_data().unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"lost");

    disk.set_false_sync(FalseSync::Folder, true);
    disk.remove_file(path("/f")).unwrap();
    disk.sync_folder(path("/")).unwrap();
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"lost", "the name is still there");
    let image = disk.crash_image(disk.operation_count(), CrashPolicy::OnlySynced, 0).unwrap();
    image.remove_file(path("/f")).unwrap();
    image.sync_folder(path("/")).unwrap();
    let twice = image.crash_image(image.operation_count(), CrashPolicy::OnlySynced, 0).unwrap();
    assert_eq!(twice.paths().len(), 0, "an image is honest");
}

#[test]
fn a_full_disk_takes_what_fits() {
    let (disk, file) = disk_with_file("/f");
    disk.set_capacity(Some(3 * PAGE_BYTES));
    assert_eq!(disk.used_bytes(), 0);
    let error = file.write_all_at(&[7; 4 * PAGE], 100).unwrap_err();
    assert_eq!((error.raw_os_error(), error.kind()), (Some(ENOSPC), io::ErrorKind::StorageFull));
    let mut expected = vec![0; 100];
    expected.resize(3 * PAGE, 7);
    assert_eq!(disk.contents(path("/f")).unwrap(), expected);
    file.write_all_at(&[8; 3 * PAGE], 0).unwrap();
    assert_eq!(errno_of(file.write_all_at(b"x", 5 * PAGE_BYTES)), ENOSPC);
    assert_eq!(file.len().unwrap(), 3 * PAGE_BYTES, "a write of nothing does not lengthen");
    assert_eq!(errno_of(disk.open(path("/g"), OpenMode::CreateNew)), ENOSPC);
    assert_eq!(errno_of(disk.create_folder(path("/g"))), ENOSPC);
    file.set_len(100 * PAGE_BYTES).unwrap();
    assert_eq!(errno_of(file.write_all_at(b"x", 50 * PAGE_BYTES)), ENOSPC, "set_len gives no space");
    file.sync_data().unwrap();

    file.set_len(2 * PAGE_BYTES).unwrap();
    disk.open(path("/g"), OpenMode::CreateNew).unwrap().write_all_at(b"x", 0).unwrap();
    assert_eq!(errno_of(file.write_all_at(b"x", 2 * PAGE_BYTES)), ENOSPC);
    disk.remove_file(path("/g")).unwrap();
    file.write_all_at(b"x", 2 * PAGE_BYTES).unwrap();
    disk.set_capacity(Some(PAGE_BYTES));
    assert_eq!(errno_of(file.write_all_at(b"x", 3 * PAGE_BYTES)), ENOSPC);
    disk.set_capacity(None);
    file.write_all_at(b"x", 3 * PAGE_BYTES).unwrap();
}

#[test]
fn zeros_that_were_written_keep_their_space_over_a_crash() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(&[0; 4 * PAGE], 0).unwrap();
    file.sync_data().unwrap();
    disk.set_capacity(Some(4 * PAGE_BYTES));
    let image = disk.crash_image(disk.operation_count(), CrashPolicy::OnlySynced, 0).unwrap();
    assert_eq!(image.used_bytes(), 4 * PAGE_BYTES);
    let file = image.open(path("/f"), OpenMode::Write).unwrap();
    file.write_all_at(&[1; 4 * PAGE], 0).unwrap();
    assert_eq!(errno_of(file.write_all_at(&[1], 4 * PAGE_BYTES)), ENOSPC, "an image is as full");
}

#[test]
fn a_read_only_disk_refuses_every_change() {
    let (disk, file) = disk_with_file("/f");
    disk.put(path("/f2"), b"it").unwrap();
    disk.set_read_only(true);
    let before = everything(&disk);
    for call in CHANGING_CALLS {
        assert_eq!(errno_of(call_each(&disk, call)), EROFS, "{call:?}");
    }
    assert_eq!(errno_of(file.write_all_at(b"x", 0)), EROFS);
    assert_eq!(errno_of(disk.lock(path("/lock"))), EROFS);
    assert_eq!(errno_of(disk.lock(path("/f"))), EROFS);
    assert_eq!(everything(&disk), before);
    disk.open(path("/f2"), OpenMode::Read).unwrap().read_exact_at(&mut [0; 2], 0).unwrap();
    disk.set_read_only(false);
    file.write_all_at(b"x", 0).unwrap();
}

#[test]
fn short_reads_give_at_least_one_byte_and_the_right_ones() {
    let (disk, file) = disk_with_file("/f");
    let data: Vec<u8> = (0..=255).collect();
    file.write_all_at(&data, 0).unwrap();
    disk.set_short_reads(true);
    let mut was_short = false;
    for _ in 0..100 {
        let mut buf = [0; 256];
        let read = file.read_at(&mut buf, 0).unwrap();
        assert!(read > 0);
        assert_eq!(buf[..read], data[..read]);
        was_short |= read < 256;
        let mut whole = [0; 256];
        file.read_exact_at(&mut whole, 0).unwrap();
        assert_eq!(whole[..], data);
    }
    assert!(was_short);
    assert_eq!(file.read_exact_at(&mut [0; 257], 0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_held_call_waits_and_has_not_happened() {
    let (disk, file) = disk_with_file("/f");
    file.write_all_at(b"x", 0).unwrap();
    let hold = disk.hold(DiskCall::SyncData);
    assert!(!hold.wait_for(1, Duration::ZERO));
    let (sender, done) = mpsc::channel();
    thread::scope(|scope| {
        let syncing = &file;
        scope.spawn(move || sender.send(syncing.sync_data()).unwrap());
        assert!(hold.wait_for(1, Duration::from_secs(30)));
        assert!(done.try_recv().is_err());
        file.write_all_at(b"y", 1).unwrap();
        assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"");
        assert_eq!(disk.calls(DiskCall::SyncData), 0);
        drop(hold);
        done.recv_timeout(Duration::from_secs(30)).unwrap().unwrap();
    });
    assert_eq!(after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f"), b"xy");
    file.sync_data().unwrap();
}

#[test]
fn many_threads_lose_nothing() {
    let (disk, file) = disk_with_file("/f");
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let file = &file;
            scope.spawn(move || {
                for round in 0..50_u64 {
                    file.write_all_at(&[number + 1; 100], (round * 8 + u64::from(number)) * 100).unwrap();
                    file.sync_data().unwrap();
                }
            });
        }
    });
    let contents = after_crash(&disk, CrashPolicy::OnlySynced, 0, "/f");
    for (index, chunk) in contents.chunks(100).enumerate() {
        assert_eq!(chunk, [(index % 8) as u8 + 1; 100], "chunk {index}");
    }
    assert_eq!(contents.len(), 8 * 50 * 100);
    let numbers: Vec<u64> = disk.operations().iter().map(|operation| operation.number).collect();
    assert_eq!(numbers, (1..=disk.operation_count()).collect::<Vec<_>>());
}
