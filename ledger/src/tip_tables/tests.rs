use std::path::Path;

use bitacora_formats::{ChainTip, Epoch, Generation, Micros, Position, Signature, StreamVersion, TreeHash};
use tempfile::TempDir;

use super::*;
use crate::disk::{FaultyDisk, OpenMode, RealDisk};

/// Events of each segment, all in streams of their own but one.
const EVENTS: u64 = 7;

fn hash_at(segment: u32) -> ChainHash {
    ChainHash([u8::try_from(segment % 251).unwrap(); 32])
}

/// Returns the state at the end of segment `number`.
fn state(number: u32) -> EndedState {
    let through = u64::from(number) * EVENTS;
    let mut frontier = Frontier::new();
    (0..through).for_each(|leaf| frontier.push(TreeHash([u8::try_from(leaf % 251).unwrap(); 32])));
    let end = SegmentEnd {
        ledger: LedgerId([1; 16]),
        generation: Generation(1),
        epoch: Epoch(1),
        number: SegmentNumber(number),
        next_position: Position::new(through + 1).unwrap(),
        time: Micros(u64::from(number)),
        tree_size: through,
        tree_root: frontier.root(),
        tip: ChainTip { hash: hash_at(number), signature: Signature([9; 64]) },
    };
    let tip = |position: u64, version| Tip {
        version: StreamVersion::new(version).unwrap(),
        position: Position::new(position).unwrap(),
    };
    let own = (through - EVENTS + 1..through).map(|position| (stream(position), tip(position, 1)));
    let shared = (stream(0), tip(through, u64::from(number)));
    EndedState { first: SegmentNumber(number), end, frontier, tips: own.chain([shared]).collect() }
}

fn stream(number: u64) -> StreamKey {
    StreamKey((u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)).to_le_bytes())
}

fn load_on(disk: Arc<dyn Disk>, folder: &Path, segments: u32) -> TipTables {
    let ends = move |segment: SegmentNumber| (segment.0 <= segments).then(|| hash_at(segment.0));
    TipTables::load(disk, folder.join("index"), Secret::take(&mut [3; 32]), LedgerId([1; 16]), ends)
}

fn load(folder: &Path, segments: u32) -> TipTables {
    load_on(Arc::new(RealDisk), folder, segments)
}

fn assert_is_state(found: Option<EndedState>, number: u32) {
    let found = found.unwrap();
    let mut expected = state(1);
    (2..=number).for_each(|next| expected.absorb(state(next)));
    assert_eq!((found.first, found.end), (expected.first, expected.end));
    assert_eq!((found.frontier, found.tips), (expected.frontier, expected.tips));
}

fn files(folder: &Path) -> Vec<String> {
    RealDisk.list(&folder.join("index")).unwrap().into_iter().map(|entry| entry.name).collect()
}

fn written(folder: &Path, segments: u32) -> TipTables {
    let mut tables = load(folder, 0);
    (1..=segments).for_each(|number| tables.write(&state(number)).unwrap());
    tables
}

#[test]
fn tables_merged_or_not_tell_where_the_log_stood() {
    for merged in [false, true] {
        let folder = TempDir::new().unwrap();
        let mut tables = written(folder.path(), 23);
        while merged && tables.merge_next(&|| Ok(())).unwrap() {}
        let count = files(folder.path()).len();
        assert!(if merged { count < 10 } else { count == 23 }, "{count}");
        assert_is_state(load(folder.path(), 23).state_through(SegmentNumber(23)), 23);
        assert_eq!(files(folder.path()).len(), count, "nothing that fits is removed");
    }
}

#[test]
fn what_reaches_past_the_limit_is_removed_and_written_anew() {
    let folder = TempDir::new().unwrap();
    drop(written(folder.path(), 9));
    let mut tables = load(folder.path(), 9);
    assert_is_state(tables.state_through(SegmentNumber(6)), 6);
    tables.remove_unfit();
    assert_eq!(files(folder.path()).len(), 6);
    let mut rest = state(7);
    rest.absorb(state(8));
    rest.absorb(state(9));
    tables.write(&rest).unwrap();
    assert_is_state(load(folder.path(), 9).state_through(SegmentNumber(9)), 9);
}

#[test]
fn a_table_that_does_not_fit_the_log_ends_what_is_told() {
    let folder = TempDir::new().unwrap();
    drop(written(folder.path(), 4));
    let other = |segment: SegmentNumber| Some(hash_at(if segment.0 == 3 { 77 } else { segment.0 }));
    let key = || Secret::take(&mut [3; 32]);
    let index = folder.path().join("index");
    let mut tables = TipTables::load(Arc::new(RealDisk), index.clone(), key(), LedgerId([1; 16]), other);
    assert_is_state(tables.state_through(SegmentNumber(9)), 2);
    assert_eq!(files(folder.path()).len(), 4, "a damaged log may be why they do not fit");
    tables.remove_unfit();
    assert_eq!(files(folder.path()).len(), 2, "nothing is told past a gap");

    let mut foreign =
        TipTables::load(Arc::new(RealDisk), index, key(), LedgerId([2; 16]), |n| Some(hash_at(n.0)));
    assert!(foreign.state_through(SegmentNumber(9)).is_none());
    foreign.remove_unfit();
    assert_eq!(files(folder.path()), [""; 0]);
}

#[test]
fn another_keyring_opens_no_table() {
    let folder = TempDir::new().unwrap();
    drop(written(folder.path(), 2));
    let index = folder.path().join("index");
    let key = Secret::take(&mut [4; 32]);
    let mut tables =
        TipTables::load(Arc::new(RealDisk), index, key, LedgerId([1; 16]), |n| Some(hash_at(n.0)));
    assert!(tables.state_through(SegmentNumber(9)).is_none());
}

#[test]
fn a_damaged_table_ends_what_is_told() {
    let folder = TempDir::new().unwrap();
    drop(written(folder.path(), 3));
    let second = folder.path().join("index/tips-0000000002-0000000002.tbl");
    let file = RealDisk.open(&second, OpenMode::Write).unwrap();
    file.write_all_at(&[1], file.len().unwrap() - 1).unwrap();
    let mut tables = load(folder.path(), 3);
    assert_is_state(tables.state_through(SegmentNumber(9)), 1);
    tables.remove_unfit();
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn a_table_that_follows_none_is_not_written() {
    let folder = TempDir::new().unwrap();
    let mut tables = written(folder.path(), 2);
    for number in [2, 4] {
        let error = tables.write(&state(number)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{number}");
    }
    tables.remove_all();
    assert_eq!(files(folder.path()), [""; 0]);
}

#[test]
fn a_disk_that_fails_leaves_what_was_told() {
    for failing in 0..24 {
        for has_effect in [false, true] {
            let folder = TempDir::new().unwrap();
            let disk = FaultyDisk::below(folder.path());
            let mut tables = load_on(Arc::new(disk.clone()), folder.path(), 4);
            disk.fail(Some((failing, has_effect)));
            for number in 1..=4 {
                if tables.write(&state(number)).is_err() {
                    tables.write(&state(number)).unwrap();
                }
            }
            let _ = tables.merge_next(&|| Ok(()));
            drop(tables);
            assert_is_state(load(folder.path(), 4).state_through(SegmentNumber(4)), 4);
        }
    }
}
