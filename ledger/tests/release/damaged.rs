//! Tests of damage to a released segment's remainder: one bit is undone, else archives stand in.

use std::fs;
use std::path::PathBuf;

use bitacora_formats::{Micros, ReleasedSegment};
use bitacora_ledger::{Ledger, ReadError, StoredEvent, WriterState};

use crate::{ReleaseFixture, at};

/// Returns the path and the bytes of the file that is left of the first segment.
fn left_of_first(scene: &ReleaseFixture) -> (PathBuf, Vec<u8>) {
    let file = scene.path.join("segments/0000000001.released");
    let bytes = fs::read(&file).unwrap();
    (file, bytes)
}

fn events_of(ledger: &Ledger) -> Vec<StoredEvent<'static>> {
    (1..=ledger.head().position.get()).map(|position| ledger.event(at(position)).unwrap()).collect()
}

#[test]
fn one_flipped_bit_of_what_is_left_of_a_segment_is_undone() {
    let scene = ReleaseFixture::released();
    let (file, whole) = left_of_first(&scene);
    let kept = events_of(&scene.read());
    fs::remove_file(copy_of_first(&scene)).unwrap();
    for offset in (0..whole.len()).step_by(29).chain([12, 13, 16, 24, 32, whole.len() - 1]) {
        let mut damaged = whole.clone();
        damaged[offset] ^= 1 << (offset % 8);
        fs::write(&file, &damaged).unwrap();
        let reader = scene.read();
        assert_eq!((events_of(&reader), reader.doubt()), (kept.clone(), None), "byte {offset}");
        assert_eq!(fs::read(&file).unwrap(), damaged, "a reader changes nothing");
    }
    let ledger = scene.open();
    assert_eq!(ledger.status().writer, WriterState::Ready);
    assert_eq!(fs::read(&file).unwrap(), whole, "an opening for writing writes it again");
    assert!(file.with_extension("released.damaged").exists());
    ledger.close().unwrap();
}

/// Returns the path of the copy of the file that is left of the first segment.
fn copy_of_first(scene: &ReleaseFixture) -> PathBuf {
    scene.path.join("tree/0000000001.released")
}

/// The bytes with the checksum that a file of them has.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 4);
    let crc = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn any_damage_to_what_is_left_of_a_segment_is_mended_from_its_copy() {
    let scene = ReleaseFixture::released();
    let (file, whole) = left_of_first(&scene);
    let kept = events_of(&scene.read());
    let mut twice = whole.clone();
    (twice[100], twice[300]) = (!twice[100], !twice[300]);
    for damaged in [vec![0; whole.len()], whole[..50].to_vec(), Vec::new(), summed(twice)] {
        fs::write(&file, &damaged).unwrap();
        let reader = scene.read();
        assert_eq!(reader.doubt(), None);
        assert!(events_of(&reader).starts_with(&kept));
        assert_eq!(fs::read(&file).unwrap(), damaged, "a reader changes nothing");
        let ledger = scene.open();
        assert_eq!((ledger.status().writer, fs::read(&file).unwrap()), (WriterState::Ready, whole.clone()));
        assert_eq!(fs::read(file.with_extension("released.damaged")).unwrap(), damaged);
        ledger.close().unwrap();
    }
    fs::remove_file(&file).unwrap();
    let reader = scene.read();
    assert_eq!((reader.doubt(), file.exists()), (None, false), "a missing file is read by its copy");
    assert!(events_of(&reader).starts_with(&kept));
    let ledger = scene.open();
    assert_eq!((ledger.status().writer, fs::read(&file).unwrap()), (WriterState::Ready, whole.clone()));
    ledger.close().unwrap();
    fs::write(copy_of_first(&scene), b"no copy").unwrap();
    scene.open().close().unwrap();
    assert_eq!(fs::read(copy_of_first(&scene)).unwrap(), whole, "the copy is made again of the file");
}

#[test]
fn what_is_left_of_a_segment_is_not_changed_by_a_thief_without_the_keyring() {
    let scene = ReleaseFixture::released();
    let (file, whole) = left_of_first(&scene);
    fs::remove_file(copy_of_first(&scene)).unwrap();
    let is_refused = |changed: &[u8]| {
        fs::write(&file, changed).unwrap();
        scene.read().doubt().is_some_and(|doubt| doubt.contains("0000000001.released"))
    };
    for at in (0..whole.len() - 4).step_by(41).chain([8, 10, 24, 32]) {
        let mut changed = whole.clone();
        changed[at] = !changed[at];
        assert!(is_refused(&summed(changed)), "byte {at}");
    }
    fs::write(&file, &whole).unwrap();
    let signed = ReleasedSegment::parse(&whole).unwrap();
    let first_time = Micros(signed.first_time.0 - 1);
    let unsigned = ReleasedSegment { signed: None, footer: None, first_time, ..signed };
    fs::write(&file, unsigned.encode()).unwrap();
    let ledger = scene.open();
    assert!(
        ledger.doubt().unwrap().contains("the log says that the file was signed"),
        "{:?}",
        ledger.doubt()
    );
    assert!(ledger.status().writer != WriterState::Ready);
}

#[test]
fn archives_stand_in_for_what_is_left_of_a_segment_that_is_damaged() {
    let scene = ReleaseFixture::released();
    let (file, whole) = left_of_first(&scene);
    let kept = events_of(&scene.read());
    fs::remove_file(copy_of_first(&scene)).unwrap();
    let mut twice = whole.clone();
    (twice[100], twice[300]) = (!twice[100], !twice[300]);
    for damaged in [vec![0; whole.len()], whole[..50].to_vec(), twice] {
        fs::write(&file, &damaged).unwrap();
        for ledger in [scene.read(), scene.open()] {
            assert!(ledger.doubt().unwrap().contains("0000000001.released"), "{:?}", ledger.doubt());
            assert_eq!(events_of(&ledger), kept);
        }
        assert_eq!(fs::read(&file).unwrap(), damaged, "nothing is made up");
    }
    let archived = std::mem::take(&mut *scene.archives.0.lock().unwrap());
    let without = scene.read();
    assert!(matches!(without.event(at(1)), Err(ReadError::Corrupt(fault)) if fault.last_position.is_some()));
    scene.archives.0.lock().unwrap().extend(archived);
    fs::write(&file, whole).unwrap();
    assert_eq!(scene.open().status().writer, WriterState::Ready);
}
