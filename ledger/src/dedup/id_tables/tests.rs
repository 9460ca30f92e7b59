use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bitacora_formats::Position;
use bitacora_testkit::SeededRng;
use tempfile::TempDir;

use super::*;
use crate::host::disk::{FaultyDisk, OpenMode, RealDisk};

type Ids = SegmentIds;

/// The identity with this number; spread as keyed hashes are.
fn key(number: u64) -> EventKey {
    let mut rng = SeededRng::new(number);
    let mut key = [0; 16];
    for half in key.chunks_exact_mut(8) {
        half.copy_from_slice(&rng.number().to_be_bytes());
    }
    EventKey(key)
}

fn known(number: u64) -> KnownIdentity {
    KnownIdentity { position: Position::new(number + 1).unwrap(), content: number.to_be_bytes() }
}

fn ids(numbers: std::ops::Range<u64>) -> Arc<Ids> {
    Arc::new(numbers.map(|number| (key(number), known(number))).collect())
}

fn end_of(segment: SegmentNumber) -> ChainHash {
    ChainHash([u8::try_from(segment.0 % 256).unwrap(); 32])
}

fn load_on(disk: Arc<dyn Disk>, ledger: &Path, segments: u32) -> IdTables {
    let ends = move |segment: SegmentNumber| (segment.0 <= segments).then(|| end_of(segment));
    let (id, generation, key) = (LedgerId([1; 16]), Generation(1), Secret::take(&mut [3; 32]));
    IdTables::load(disk, ledger.join("index"), key, id, generation, ends)
}

fn load(ledger: &Path, segments: u32) -> IdTables {
    load_on(Arc::new(RealDisk), ledger, segments)
}

fn settle(tables: &IdTables) {
    while tables.write_next().unwrap() || tables.merge_next(&|| Ok(())).unwrap() {}
}

fn files(ledger: &Path) -> Vec<String> {
    RealDisk.list(&ledger.join("index")).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// Segments of ten identities each, from segment 1.
fn add_segments(tables: &IdTables, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        let from = u64::from(number) * 10;
        tables.add_ended(SegmentNumber(number), end_of(SegmentNumber(number)), ids(from..from + 10));
    }
}

fn assert_holds_segments(tables: &IdTables, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        assert!(tables.covers(SegmentNumber(number)), "segment {number}");
        for id in u64::from(number) * 10..u64::from(number) * 10 + 10 {
            assert_eq!(tables.lookup(&key(id), None).unwrap(), Some(known(id)), "segment {number}");
        }
    }
    for id in 1_000_000..1_002_000 {
        assert_eq!(tables.lookup(&key(id), None).unwrap(), None);
    }
}

#[test]
fn whatever_is_written_merged_or_loaded_again_the_answers_are_those_of_a_map() {
    for seed in 0..8_u64 {
        let ledger = TempDir::new().unwrap();
        let mut rng = SeededRng::new(seed);
        let mut below = |bound: u64| rng.below(bound);
        let mut model: Vec<Arc<Ids>> = Vec::new();
        let (mut tables, mut next_id) = (load(ledger.path(), 0), 0);
        for _ in 0..120 {
            match below(6) {
                0..=2 => {
                    let count = if below(4) == 0 { below(3_000) } else { below(40) };
                    model.push(ids(next_id..next_id + count));
                    next_id += count;
                    let number = SegmentNumber(u32::try_from(model.len()).unwrap());
                    tables.add_ended(number, end_of(number), Arc::clone(model.last().unwrap()));
                }
                3 => {
                    tables.write_next().unwrap();
                }
                4 => {
                    tables.merge_next(&|| Ok(())).unwrap();
                }
                _ => {
                    let segments = u32::try_from(model.len()).unwrap();
                    tables = load(ledger.path(), segments);
                    for (number, ids) in (1..).map(SegmentNumber).zip(&model) {
                        if !tables.covers(number) {
                            tables.add_ended(number, end_of(number), Arc::clone(ids));
                        }
                    }
                }
            }
            let segments = u32::try_from(model.len()).unwrap();
            assert_eq!(tables.covered_through(), (segments > 0).then_some(SegmentNumber(segments)));
            for _ in 0..50 {
                let id = below(next_id + 10);
                let expected = (id < next_id).then(|| known(id));
                assert_eq!(tables.lookup(&key(id), None).unwrap(), expected, "seed {seed}, id {id}");
            }
        }
        settle(&tables);
        assert_eq!(tables.unwritten(), 0);
        (0..next_id).for_each(|id| assert_eq!(tables.lookup(&key(id), None).unwrap(), Some(known(id))));
    }
}

#[test]
fn a_lookup_after_a_segment_finds_all_that_came_later() {
    let ledger = TempDir::new().unwrap();
    let tables = load(ledger.path(), 0);
    add_segments(&tables, 1..=9);
    let check = |checked: u32| {
        for id in u64::from(checked + 1) * 10..100 {
            let found = tables.lookup(&key(id), Some(SegmentNumber(checked))).unwrap();
            assert_eq!(found, Some(known(id)), "after {checked}");
        }
        assert_eq!(
            tables.lookup(&key(10), Some(SegmentNumber(9))).unwrap(),
            None,
            "nothing is looked through"
        );
    };
    (1..9).for_each(check);
    settle(&tables);
    (1..9).for_each(check);
}

#[test]
fn segments_that_do_not_follow_one_another_share_no_table() {
    let ledger = TempDir::new().unwrap();
    let tables = load(ledger.path(), 0);
    add_segments(&tables, 1..=3);
    add_segments(&tables, 5..=8);
    settle(&tables);
    assert_eq!(files(ledger.path()), ["ids-0000000001-0000000003.tbl", "ids-0000000005-0000000008.tbl"]);
    assert!(!tables.covers(SegmentNumber(4)));
    add_segments(&tables, 4..=4);
    settle(&tables);
    assert_holds_segments(&tables, 1..=8);
    assert_holds_segments(&load(ledger.path(), 8), 1..=8);
}

#[test]
fn neighbours_are_merged_and_removed_after_the_new_table_is_durable() {
    let ledger = TempDir::new().unwrap();
    let disk = FaultyDisk::below(ledger.path());
    let tables = load_on(Arc::new(disk.clone()), ledger.path(), 0);
    for number in 1..=4 {
        add_segments(&tables, number..=number);
        assert!(tables.write_next().unwrap());
    }
    assert_eq!(files(ledger.path()).len(), 4);
    disk.fail(None);
    assert!(tables.merge_next(&|| Ok(())).unwrap());
    assert!(!tables.merge_next(&|| Ok(())).unwrap() && !tables.write_next().unwrap());
    assert_eq!(files(ledger.path()), ["ids-0000000001-0000000004.tbl"]);
    let noted = disk.noted();
    let at = |call: &str| noted.iter().position(|noted| noted.starts_with(call)).unwrap();
    assert!(at("rename to index/ids-0000000001-0000000004.tbl") < at("sync folder index"), "{noted:?}");
    assert!(at("sync folder index") < at("remove index/ids-"), "{noted:?}");
    assert_holds_segments(&tables, 1..=4);
}

#[test]
fn a_disk_that_fails_leaves_every_answer_as_it_was() {
    for failing in 0..30 {
        for has_effect in [false, true] {
            let ledger = TempDir::new().unwrap();
            let disk = FaultyDisk::below(ledger.path());
            let tables = load_on(Arc::new(disk.clone()), ledger.path(), 0);
            disk.fail(Some((failing, has_effect)));
            let mut errors = 0;
            for number in 1..=4 {
                add_segments(&tables, number..=number);
                errors += usize::from(tables.write_next().is_err());
                assert_holds_segments(&tables, 1..=number);
            }
            while tables.write_next().unwrap_or_default() {}
            errors += usize::from(tables.merge_next(&|| Ok(())).is_err());
            assert_holds_segments(&tables, 1..=4);
            settle(&tables);
            assert!(errors <= 1, "call {failing}");
            assert_holds_segments(&tables, 1..=4);
            assert_holds_segments(&load(ledger.path(), 4), 1..=4);
        }
    }
}

#[test]
fn a_segment_that_ends_during_a_merge_is_written_before_the_merge_ends() {
    let ledger = TempDir::new().unwrap();
    let tables = load(ledger.path(), 0);
    for number in 1..=4 {
        add_segments(&tables, number..=number);
        tables.write_next().unwrap();
    }
    let slices = std::cell::Cell::new(0);
    let between = || {
        if slices.replace(slices.get() + 1) == 0 {
            add_segments(&tables, 5..=5);
            assert!(tables.write_next()?);
        }
        assert_eq!(tables.unwritten(), 0);
        Ok(())
    };
    assert!(tables.merge_next(&between).unwrap());
    assert!(slices.get() > 0);
    assert_eq!(files(ledger.path()), ["ids-0000000001-0000000004.tbl", "ids-0000000005-0000000005.tbl"]);
    assert_holds_segments(&tables, 1..=5);
}

#[test]
fn a_merge_that_is_interrupted_leaves_the_tables_as_they_were() {
    let ledger = TempDir::new().unwrap();
    let tables = load(ledger.path(), 0);
    for number in 1..=4 {
        add_segments(&tables, number..=number);
        tables.write_next().unwrap();
    }
    let before = files(ledger.path());
    let error = tables.merge_next(&|| Err(io::ErrorKind::Interrupted.into())).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    assert_eq!(files(ledger.path()), before);
    assert_holds_segments(&tables, 1..=4);
}

#[test]
fn what_a_crash_left_of_a_merge_is_removed() {
    let ledger = TempDir::new().unwrap();
    let tables = load(ledger.path(), 0);
    for number in 1..=4 {
        add_segments(&tables, number..=number);
        tables.write_next().unwrap();
    }
    let index = ledger.path().join("index");
    let kept = TempDir::new().unwrap();
    let copy = |from: &Path, to: &Path| {
        for name in files_in(from) {
            let (from, to) = (RealDisk.open(&from.join(&name), OpenMode::Read).unwrap(), to.join(&name));
            let mut bytes = vec![0; usize::try_from(from.len().unwrap()).unwrap()];
            from.read_exact_at(&mut bytes, 0).unwrap();
            RealDisk.open(&to, OpenMode::CreateNew).unwrap().write_all_at(&bytes, 0).unwrap();
        }
    };
    copy(&index, kept.path());
    tables.merge_next(&|| Ok(())).unwrap();
    drop(tables);
    copy(kept.path(), &index);
    RealDisk.open(&index.join("ids-0000000003-0000000009.tbl.tmp"), OpenMode::CreateNew).unwrap();
    RealDisk.open(&index.join("of somebody else"), OpenMode::CreateNew).unwrap();
    assert_eq!(files(ledger.path()).len(), 7);

    let loaded = load(ledger.path(), 4);
    assert_holds_segments(&loaded, 1..=4);
    assert_eq!(files(ledger.path()).len(), 6, "a damaged log may be why they do not fit");
    loaded.remove_unfit();
    assert_eq!(files(ledger.path()), ["ids-0000000001-0000000004.tbl", "of somebody else"]);

    // Where the merged table is not what was written, those it was made of still serve.
    copy(kept.path(), &index);
    let merged = RealDisk.open(&index.join("ids-0000000001-0000000004.tbl"), OpenMode::Write).unwrap();
    merged.write_all_at(&[1], 100).unwrap();
    let loaded = load(ledger.path(), 4);
    assert_holds_segments(&loaded, 1..=4);
    loaded.remove_unfit();
    assert_eq!(files(ledger.path()).len(), 5);
}

fn files_in(folder: &Path) -> Vec<String> {
    RealDisk.list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn a_table_that_does_not_fit_the_log_covers_nothing() {
    let ledger = TempDir::new().unwrap();
    let tables = load(ledger.path(), 0);
    add_segments(&tables, 1..=2);
    settle(&tables);
    add_segments(&tables, 3..=4);
    settle(&tables);
    assert_eq!(files(ledger.path()).len(), 2);

    let shorter = load(ledger.path(), 3);
    assert!(
        shorter.covers(SegmentNumber(2))
            && !shorter.covers(SegmentNumber(3))
            && !shorter.covers(SegmentNumber(4))
    );
    shorter.remove_unfit();
    assert_eq!(files(ledger.path()), ["ids-0000000001-0000000002.tbl"]);

    let ends = |_: SegmentNumber| Some(ChainHash([0xee; 32]));
    let key = Secret::take(&mut [3; 32]);
    let folder = ledger.path().join("index");
    let other = IdTables::load(Arc::new(RealDisk), folder, key, LedgerId([1; 16]), Generation(1), ends);
    assert!(!other.covers(SegmentNumber(1)));
    assert_eq!(other.covered_through(), None);
    other.remove_unfit();
    assert_eq!(files(ledger.path()), [""; 0]);
}

/// Ends the readers, also where the test fails.
struct StopOnDrop<'d>(&'d AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn readers_never_miss_an_identity_while_tables_change() {
    let ledger = TempDir::new().unwrap();
    let tables = load(ledger.path(), 0);
    add_segments(&tables, 1..=1);
    let done = AtomicBool::new(false);
    let reached = std::sync::atomic::AtomicU32::new(1);
    thread::scope(|scope| {
        for reader in 0..2_u64 {
            let (tables, done, reached) = (&tables, &done, &reached);
            scope.spawn(move || {
                let mut id = reader;
                while !done.load(Ordering::Acquire) {
                    let last = u64::from(reached.load(Ordering::Acquire)) * 10 + 10;
                    id = 10 + (id * 31 + 7) % (last - 10);
                    assert_eq!(tables.lookup(&key(id), None).unwrap(), Some(known(id)));
                    // On few cores the writer gets its turn.
                    thread::yield_now();
                }
            });
        }
        let _done = StopOnDrop(&done);
        for number in 2..=60 {
            add_segments(&tables, number..=number);
            reached.store(number, Ordering::Release);
            tables.write_next().unwrap();
            tables.merge_next(&|| Ok(())).unwrap();
        }
    });
    assert_holds_segments(&tables, 1..=60);
}

#[test]
fn a_new_table_takes_a_bounded_number_of_identities() {
    let ended = |number: u32, count: u64| EndedSegment {
        number: SegmentNumber(number),
        hash: end_of(SegmentNumber(number)),
        ids: ids(0..count),
    };
    let most = MAX_ID_TABLE_WRITE_ENTRIES as u64;
    let published = |ended: Vec<EndedSegment>| PublishedTables { tables: Vec::new(), ended };
    assert_eq!(published(vec![ended(1, most - 1), ended(2, 1), ended(3, 1)]).oldest_run().len(), 2);
    assert_eq!(published(vec![ended(1, most + 1), ended(2, 1)]).oldest_run().len(), 1, "one is taken whole");
    assert_eq!(published(vec![]).oldest_run().len(), 0);
}
