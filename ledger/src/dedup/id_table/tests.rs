use std::collections::{BTreeMap, HashMap};

use bitacora_formats::{ChainHash, Generation, LedgerId, Position};
use bitacora_testkit::SeededRng;
use tempfile::TempDir;

use super::*;
use crate::host::background_pace::BackgroundPace;
use crate::host::disk::{FaultyDisk, RealDisk};

fn index_key() -> Secret {
    Secret::take(&mut [3; 32])
}

fn binding(first: u32, last: u32) -> IdTableBinding {
    IdTableBinding {
        ledger: LedgerId([1; 16]),
        generation: Generation(1),
        first: SegmentNumber(first),
        last: SegmentNumber(last),
        hash: ChainHash([u8::try_from(last).unwrap(); 32]),
    }
}

/// Keys and entries that follow from a seed.
struct RandomEntries(SeededRng);

impl RandomEntries {
    fn new(seed: u64) -> Self {
        Self(SeededRng::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.number()
    }

    fn key(&mut self) -> EventKey {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.next().to_be_bytes());
        key[8..].copy_from_slice(&self.next().to_be_bytes());
        EventKey(key)
    }

    fn entry(&mut self) -> IdEntry {
        let position = Position::new(self.next() | 1).unwrap();
        IdEntry { key: self.key(), position, content: self.next().to_be_bytes() }
    }
}

fn entries(seed: u64, count: usize) -> Vec<IdEntry> {
    let mut draw = RandomEntries::new(seed);
    (0..count).map(|_| draw.entry()).collect()
}

fn build(folder: &Path, binding: IdTableBinding, entries: Vec<IdEntry>) -> IdTable {
    IdTable::build(&RealDisk, folder, &index_key(), binding, entries, &BackgroundPace::default()).unwrap()
}

fn load(folder: &Path, binding: IdTableBinding) -> Result<IdTable, UnusableIdTable> {
    IdTable::load(&RealDisk, folder, &index_key(), binding)
}

fn known(entry: &IdEntry) -> KnownIdentity {
    KnownIdentity { position: entry.position, content: entry.content }
}

/// Every identity is found as it was put in, and others are not.
fn assert_holds(table: &IdTable, entries: &[IdEntry]) {
    for entry in entries {
        assert_eq!(table.lookup(&entry.key).unwrap(), Some(known(entry)));
    }
    let held: HashMap<_, _> = entries.iter().map(|entry| (entry.key, known(entry))).collect();
    let mut draw = RandomEntries::new(0xab5e);
    for _ in 0..2_000 {
        let key = draw.key();
        assert_eq!(table.lookup(&key).unwrap(), held.get(&key).copied());
    }
    for key in [EventKey([0; 16]), EventKey([0xff; 16])] {
        assert_eq!(table.lookup(&key).unwrap(), None);
    }
}

#[test]
fn a_table_answers_as_the_map_it_was_made_of() {
    for (seed, count) in (0..).zip([0, 1, 2, 126, 127, 128, 254, 255, 5_000, 127 * 32, 127 * 33 + 1]) {
        let folder = TempDir::new().unwrap();
        let entries = entries(seed, count);
        assert_holds(&build(folder.path(), binding(1, 2), entries.clone()), &entries);
        let table = load(folder.path(), binding(1, 2)).unwrap();
        assert_eq!(table.entries(), count as u64);
        assert_holds(&table, &entries);
    }
}

#[test]
fn merged_tables_answer_as_all_of_them() {
    let folder = TempDir::new().unwrap();
    let mut all = Vec::new();
    let mut tables = Vec::new();
    for (number, count) in (1..).zip([300, 0, 1, 2_000, 127]) {
        let entries = entries(u64::from(number), count);
        all.extend(entries.clone());
        tables.push(Arc::new(build(folder.path(), binding(number, number), entries)));
    }
    let merged = IdTable::merge(&RealDisk, folder.path(), &index_key(), &tables, &|| Ok(())).unwrap();
    assert_eq!((*merged.binding(), merged.entries()), (binding(1, 5), 2_428));
    assert_holds(&merged, &all);
    assert_holds(&load(folder.path(), binding(1, 5)).unwrap(), &all);
}

#[test]
fn one_identity_in_two_tables_is_not_merged_away() {
    let mut entries = entries(1, 127);
    entries.sort_unstable_by_key(|entry| entry.key);
    // Within one block of the merged table, and as the last of one and the first of the next.
    for shared in [entries[5], entries[126]] {
        let folder = TempDir::new().unwrap();
        let tables = [(1, entries.clone()), (2, vec![shared])]
            .map(|(number, entries)| Arc::new(build(folder.path(), binding(number, number), entries)));
        let error = IdTable::merge(&RealDisk, folder.path(), &index_key(), &tables, &|| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        let kept = [1, 2].map(|number| file_name(SegmentNumber(number), SegmentNumber(number)));
        assert_eq!(names(folder.path()), kept);
    }
}

fn names(folder: &Path) -> Vec<String> {
    RealDisk.list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// Changes a byte of the table's file.
fn flip(folder: &Path, at: u64) {
    let file =
        RealDisk.open(&folder.join(file_name(SegmentNumber(1), SegmentNumber(1))), OpenMode::Write).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 0x20;
    file.write_all_at(&byte, at).unwrap();
}

#[test]
fn rot_before_loading_is_seen_wherever_it_is() {
    let folder = TempDir::new().unwrap();
    let table = build(folder.path(), binding(1, 1), entries(7, 140));
    let length = table.blocks.header().table_bytes();
    assert_eq!(length, 3 * 4_096 + 4 * 64 + 32);
    for at in 0..length {
        flip(folder.path(), at);
        assert!(matches!(load(folder.path(), binding(1, 1)), Err(UnusableIdTable::Table(_))), "byte {at}");
        flip(folder.path(), at);
    }
    load(folder.path(), binding(1, 1)).unwrap();
}

#[test]
fn rot_after_loading_is_harmless_or_an_error() {
    let folder = TempDir::new().unwrap();
    let mut entries = entries(7, 140);
    let table = build(folder.path(), binding(1, 1), entries.clone());
    entries.sort_unstable_by_key(|entry| entry.key);
    let asked = [0, 1, 60, 126, 127, 128, 139].map(|index| entries[index]);
    let mut errors = 0;
    for at in 0..table.blocks.header().table_bytes() {
        flip(folder.path(), at);
        for entry in &asked {
            match table.lookup(&entry.key) {
                Ok(found) => assert_eq!(found, Some(known(entry)), "byte {at}"),
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "byte {at}: {error}");
                    errors += 1;
                }
            }
        }
        flip(folder.path(), at);
    }
    assert_eq!(errors, 4_096 * asked.len(), "each byte of an entry's own block, and no other");
}

#[test]
fn a_rotten_block_ends_a_merge() {
    let folder = TempDir::new().unwrap();
    let tables = [1, 2].map(|number| {
        Arc::new(build(folder.path(), binding(number, number), entries(u64::from(number), 300)))
    });
    flip(folder.path(), 4_096 + 5_000);
    IdTable::merge(&RealDisk, folder.path(), &index_key(), &tables, &|| Ok(())).unwrap_err();
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn a_file_of_another_length_is_doubted() {
    let folder = TempDir::new().unwrap();
    let table = build(folder.path(), binding(1, 1), entries(7, 140));
    let file = RealDisk.open(table.path(), OpenMode::Write).unwrap();
    let length = file.len().unwrap();
    file.set_len(length + 1).unwrap();
    assert!(matches!(
        load(folder.path(), binding(1, 1)),
        Err(UnusableIdTable::Table(IdTableError::Length { .. }))
    ));
    for length in (0..length).rev().step_by(97).chain([0]) {
        file.set_len(length).unwrap();
        assert!(matches!(load(folder.path(), binding(1, 1)), Err(UnusableIdTable::Table(_))), "{length}");
    }
    RealDisk.remove_file(table.path()).unwrap();
    assert!(matches!(load(folder.path(), binding(1, 1)), Err(UnusableIdTable::Disk(_))));
}

#[test]
fn a_table_of_anything_else_is_doubted() {
    let folder = TempDir::new().unwrap();
    build(folder.path(), binding(1, 1), entries(7, 140));
    let others = [
        IdTableBinding { ledger: LedgerId([2; 16]), ..binding(1, 1) },
        IdTableBinding { generation: Generation(2), ..binding(1, 1) },
        IdTableBinding { hash: ChainHash([0; 32]), ..binding(1, 1) },
    ];
    for other in others {
        let doubt = load(folder.path(), other).unwrap_err();
        assert!(matches!(doubt, UnusableIdTable::Table(IdTableError::Binding)), "{other:?}: {doubt}");
    }
    RealDisk
        .rename(
            &folder.path().join(file_name(SegmentNumber(1), SegmentNumber(1))),
            &folder.path().join(file_name(SegmentNumber(1), SegmentNumber(2))),
        )
        .unwrap();
    assert!(matches!(load(folder.path(), binding(1, 2)), Err(UnusableIdTable::Table(IdTableError::Binding))));
    let other_key = Secret::take(&mut [4; 32]);
    build(folder.path(), binding(1, 1), entries(7, 140));
    let doubt = IdTable::load(&RealDisk, folder.path(), &other_key, binding(1, 1)).unwrap_err();
    assert!(matches!(doubt, UnusableIdTable::Table(IdTableError::NotAuthentic)), "{doubt}");
}

#[test]
fn a_table_is_whole_and_synced_before_it_has_its_name() {
    let ledger = TempDir::new().unwrap();
    let disk = FaultyDisk::below(ledger.path());
    let folder = ledger.path().join("index");
    IdTable::build(&disk, &folder, &index_key(), binding(1, 1), entries(1, 10), &BackgroundPace::default())
        .unwrap();
    let name = "index/ids-0000000001-0000000001.tbl";
    let expected = [
        "create folder index".to_owned(),
        "sync folder ".to_owned(),
        format!("create {name}.tmp"),
        format!("write {name}.tmp"),
        format!("sync {name}.tmp"),
        format!("write {name}.tmp"),
        format!("write {name}.tmp"),
        format!("sync {name}.tmp"),
        format!("rename to {name}"),
        "sync folder index".to_owned(),
    ];
    assert_eq!(disk.noted(), expected);
}

#[test]
fn after_any_failed_call_there_is_the_whole_table_or_none() {
    let entries = entries(1, 10);
    for failing in 0..10 {
        for has_effect in [false, true] {
            let ledger = TempDir::new().unwrap();
            let disk = FaultyDisk::below(ledger.path());
            let folder = ledger.path().join("index");
            disk.fail(Some((failing, has_effect)));
            let build = || {
                IdTable::build(
                    &disk,
                    &folder,
                    &index_key(),
                    binding(1, 1),
                    entries.clone(),
                    &BackgroundPace::default(),
                )
            };
            build().unwrap_err();
            disk.fail(None);
            match load(&folder, binding(1, 1)) {
                Ok(table) => assert_holds(&table, &entries),
                Err(UnusableIdTable::Disk(error)) => {
                    assert_eq!(error.kind(), io::ErrorKind::NotFound, "call {failing}");
                }
                Err(UnusableIdTable::Table(error)) => {
                    panic!("call {failing}, with effect: {has_effect}: {error}")
                }
            }
            assert_holds(&build().unwrap(), &entries);
            assert_eq!(names(&folder).len(), 1, "call {failing}, with effect: {has_effect}");
        }
    }
}

#[test]
fn only_names_of_tables_are_taken_for_tables() {
    let name = file_name(SegmentNumber(7), SegmentNumber(4_294_967_295));
    assert_eq!(name, "ids-0000000007-4294967295.tbl");
    assert_eq!(segments_of(&name), Some((SegmentNumber(7), SegmentNumber(u32::MAX))));
    assert!(is_unfinished("ids-0000000007-0000000008.tbl.tmp"));
    let strange: BTreeMap<_, _> = [
        "ids-7-8.tbl",
        "ids-0000000007-0000000008.tbl.tmp",
        "ids-0000000007-4294967296.tbl",
        "ids-+000000007-0000000008.tbl",
        "ids-0000000007.tbl",
        "notes.txt",
    ]
    .into_iter()
    .map(|name| (name, segments_of(name)))
    .collect();
    assert!(strange.values().all(Option::is_none), "{strange:?}");
    assert!(!is_unfinished("notes.tmp") && !is_unfinished(&name));
}
