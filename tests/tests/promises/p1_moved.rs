//! P1 where folders are moved: a ledger's files are those of the folder that it was opened in.
//! A later folder under its name changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_formats::Position;
use bitacora_ledger::{
    AppendError, AppendRequest, Environment, Ledger, OpenError, ReadOnlyReason, WriterState,
};
use bitacora_tests::folders::{contents, copy_folder};

use crate::p7_no_rollback::{AnchorFixture, append};
use crate::workload::{all, event, keyring, options as without_heads};

/// A segment is made ahead long before.
const PATIENCE: Duration = Duration::from_secs(20);
/// A segment that has all its bytes is ready after one more sync.
const SETTLING: Duration = Duration::from_millis(100);

impl AnchorFixture {
    /// Opens it without tree heads: nothing but its own files tell of it.
    fn open_without_anchor(&self) -> Result<Ledger, OpenError> {
        Ledger::open(&Environment::real(), &self.ledger(), keyring(), without_heads())
    }

    fn open_for_reading(&self) -> Ledger {
        Ledger::open_for_reading(&Environment::real(), &self.ledger(), keyring(), None).unwrap()
    }

    /// Puts a copy of this folder under the ledger's name, where nothing stands.
    fn put_beside(&self, folder: &Path) {
        copy_folder(folder, &self.ledger()).unwrap();
    }
}

#[test]
fn a_writer_whose_folder_was_moved_leaves_the_copy_in_its_place_alone() {
    let fixture = AnchorFixture::new();
    let first = fixture.open_without_anchor().unwrap();
    append(&first, 1).unwrap();
    let away = fixture.ledger().with_file_name("away");
    fs::rename(fixture.ledger(), &away).unwrap();
    fixture.put_beside(&away);
    let second = fixture.open_without_anchor().unwrap();
    (2..10).for_each(|number| append(&second, number).unwrap());

    // The first one ends: its segment made ahead goes, and has the name of the one that the second writes.
    assert!(first.close().is_err());
    drop(first);
    (10..20).for_each(|number| append(&second, number).unwrap());
    let known = all(&second).unwrap();
    second.close().unwrap();
    drop(second);
    let again = fixture.open_without_anchor().unwrap();
    assert_eq!(again.status().writer, WriterState::Ready);
    for stored in known {
        assert_eq!(again.event(stored.position).unwrap().event, stored.event);
    }
    let numbers = (1..20).map(|number| event(number).id).collect::<Vec<_>>();
    let found: Vec<_> = all(&again).unwrap().into_iter().map(|stored| stored.event.id).collect();
    assert!(numbers.iter().all(|id| found.contains(id)), "{found:?}");
}

#[test]
fn a_writer_whose_folder_was_moved_acknowledges_nothing_more_and_changes_no_file_in_its_place() {
    let fixture = AnchorFixture::new();
    let ledger = fixture.open_without_anchor().unwrap();
    append(&ledger, 1).unwrap();
    let away = fixture.ledger().with_file_name("away");
    fs::rename(fixture.ledger(), &away).unwrap();
    fixture.put_beside(&away);
    let before = contents(&fixture.ledger()).unwrap();
    // A subject's key is made before the event is written that needs it.
    let mut personal = event(2);
    personal.datasubject = Some("person-1".into());
    let refused = ledger.append(AppendRequest::of(vec![personal])).unwrap().wait().unwrap_err();
    assert!(matches!(refused, AppendError::Unknown), "{refused}");
    assert!(matches!(ledger.status().writer, WriterState::Poisoned(_)));
    drop(ledger.close());
    drop(ledger);
    let after = contents(&fixture.ledger()).unwrap();
    let names =
        |files: &std::collections::BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    assert!(after == before, "a file was changed");
}

#[test]
fn an_unused_segment_that_somebody_wrote_to_or_put_there_stays() {
    let change = |segment: &Path, is_replaced: bool| {
        let bytes = fs::read(segment).unwrap();
        if is_replaced {
            fs::remove_file(segment).unwrap();
            fs::write(segment, &bytes).unwrap();
        } else {
            let (bytes_written, mut written) = (bytes.len(), bytes);
            written[bytes_written - 1] = 1;
            fs::write(segment, &written).unwrap();
        }
    };
    for is_replaced in [true, false] {
        let fixture = AnchorFixture::new();
        let ledger = fixture.open_without_anchor().unwrap();
        append(&ledger, 1).unwrap();
        let blank = fixture.ledger().join("segments/0000000003.seg");
        let began = Instant::now();
        while fs::metadata(&blank).map_or(0, |metadata| metadata.len()) < without_heads().segment_bytes {
            assert!(began.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(SETTLING);
        change(&blank, is_replaced);
        ledger.close().unwrap();
        drop(ledger);
        assert!(blank.exists(), "replaced: {is_replaced}");
    }
}

#[test]
fn a_last_segment_that_is_missing_or_zeros_is_damage_where_leaves_remember_it() {
    for (zeros, blank_behind) in [(false, false), (true, false), (false, true), (true, true)] {
        let fixture = AnchorFixture::new();
        let ledger = fixture.open_without_anchor().unwrap();
        append(&ledger, 1).unwrap();
        ledger.close().unwrap();
        let last = ledger.head().position;
        drop(ledger);
        let segment = |number: u32| fixture.ledger().join(format!("segments/{number:010}.seg"));
        let whole = fs::read(segment(2)).unwrap();
        if zeros {
            fs::write(segment(2), vec![0; whole.len()]).unwrap();
        } else {
            fs::remove_file(segment(2)).unwrap();
        }
        if blank_behind {
            fs::write(segment(3), vec![0; 4096]).unwrap();
        }
        let what = format!("zeros {zeros}, blank behind {blank_behind}");
        for ledger in [fixture.open_without_anchor().unwrap(), fixture.open_for_reading()] {
            let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = ledger.status().writer else {
                panic!("{what}: {:?}", ledger.status().writer)
            };
            assert_eq!((fault.file.as_str(), fault.first_position), ("segments/0000000002.seg", 2), "{what}");
            assert_eq!(ledger.head().position, Position::FIRST, "{what}");
        }
        // Put back, nothing is lost.
        fs::write(segment(2), whole).unwrap();
        if blank_behind {
            fs::remove_file(segment(3)).unwrap();
        }
        let ledger = fixture.open_without_anchor().unwrap();
        assert_eq!(ledger.status().writer, WriterState::Ready, "{what}");
        assert!(ledger.head().position > last, "{what}");
    }
}
