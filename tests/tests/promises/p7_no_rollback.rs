//! P7: a ledger that is older than, or different from, what its anchor has seen is refused at start; a loss goes on only where
//! its owner declares it, in a generation that says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{LedgerName, UnverifiedTreeHead};
use bitacora_ledger::{
    Anchor, AppendError, AppendRequest, CreateError, Environment, FolderAnchor, HeadOptions, Ledger,
    OpenError, Options, ReadOnlyReason, RealDisk, Rollback, WriterState,
};
use bitacora_tests::folders::copy_folder;
use tempfile::TempDir;

use crate::workload::{event, keyring, options as without_heads};

/// A data folder and, beside it, an anchor.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.create();
        place
    }

    fn create(&self) {
        let name: LedgerName = "main".parse().unwrap();
        Ledger::create(&Environment::real(), &self.ledger(), &name, &keyring(), &without_heads()).unwrap();
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    pub(crate) fn anchor(&self) -> FolderAnchor {
        FolderAnchor::new(Arc::new(RealDisk), &self.folder.path().join("anchors"))
    }

    fn options(&self) -> Options {
        // Only what ends a segment or the ledger makes a head, so that a test knows when.
        let every = Duration::from_secs(3_600);
        let heads = HeadOptions { every, anchor: Some(Arc::new(self.anchor())), ..HeadOptions::default() };
        Options { heads: Some(heads), ..without_heads() }
    }

    pub(crate) fn open(&self) -> Result<Ledger, OpenError> {
        Ledger::open(&Environment::real(), &self.ledger(), keyring(), self.options())
    }

    /// Opens it, appends events with these numbers, and closes it; the size of its last head.
    fn append(&self, numbers: std::ops::Range<u64>) -> u64 {
        let ledger = self.open().unwrap();
        numbers.for_each(|number| append(&ledger, number).unwrap());
        ledger.close().unwrap();
        ledger.tree_head().unwrap().size
    }

    fn copy_to(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        copy_folder(&self.ledger(), &copy).unwrap();
        copy
    }

    /// Puts a copy in the ledger's place.
    fn put_back(&self, copy: &Path) {
        fs::remove_dir_all(self.ledger()).unwrap();
        copy_folder(copy, &self.ledger()).unwrap();
    }
}

pub(crate) fn append(ledger: &Ledger, number: u64) -> Result<(), AppendError> {
    ledger.append(AppendRequest::of(vec![event(number)]))?.wait().map(|_| ())
}

#[test]
fn every_close_leaves_a_head_over_all_events_that_the_anchor_remembers() {
    let place = Place::new();
    for round in 0..3 {
        let size = place.append(round * 5..round * 5 + 5);
        let note = place.anchor().recall(&"main".parse().unwrap()).unwrap().unwrap();
        let head = UnverifiedTreeHead::parse(&note).unwrap();
        let head = head.verify_with_chain(keyring().signing_chain()).unwrap();
        assert_eq!(head.head().size, size);
        let ledger = Ledger::open_for_reading(&Environment::real(), &place.ledger(), keyring()).unwrap();
        assert_eq!((ledger.head().position.get(), ledger.head().tree_root), (size, head.head().root));
    }
}

#[test]
fn an_older_copy_does_not_open() {
    let place = Place::new();
    let before = place.append(0..3);
    let copy = place.copy_to("older");
    let after = place.append(3..6);
    place.put_back(&copy);
    let refused = place.open().map(|_| ()).unwrap_err();
    let OpenError::RolledBack(Rollback::Shorter { remembered, found, .. }) = refused else {
        panic!("{refused}")
    };
    assert_eq!((remembered, found), (after, before));
}

#[test]
fn a_copy_that_went_on_by_itself_does_not_open() {
    let place = Place::new();
    place.append(0..3);
    let copy = place.copy_to("copy");
    let size = place.append(3..6);
    // As long as the other, with other events, by somebody who has the keyring and no anchor.
    let elsewhere = Options { heads: None, ..place.options() };
    let ledger = Ledger::open(&Environment::real(), &copy, keyring(), elsewhere).unwrap();
    (10..20).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
    place.put_back(&copy);
    let refused = place.open().map(|_| ()).unwrap_err();
    let OpenError::RolledBack(Rollback::OtherRoot { size: compared, .. }) = refused else {
        panic!("{refused}")
    };
    assert_eq!(compared, size);
}

#[test]
fn a_new_ledger_in_its_place_does_not_open() {
    let place = Place::new();
    place.append(0..3);
    fs::remove_dir_all(place.ledger()).unwrap();
    let name: LedgerName = "main".parse().unwrap();
    let made = Ledger::create(&Environment::real(), &place.ledger(), &name, &keyring(), &place.options());
    assert!(matches!(made, Err(CreateError::Remembered(_))), "{made:?}");
    place.create();
    let refused = place.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::OtherLedger { .. })), "{refused}");
}

#[test]
fn a_tail_that_was_cut_below_a_head_is_not_taken_for_torn() {
    let place = Place::new();
    place.append(0..3);
    fs::remove_dir_all(place.folder.path().join("anchors")).unwrap();
    let segments = place.ledger().join("segments");
    let last = fs::read_dir(&segments).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() / 2]).unwrap();
    let ledger = place.open().unwrap();
    let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = ledger.status().writer else {
        panic!("{:?}", ledger.status().writer)
    };
    assert!(fault.file.ends_with(".heads"), "{fault}");
    assert!(append(&ledger, 9).is_err());
    ledger.close().unwrap();
    assert_eq!(fs::read(&last).unwrap(), bytes[..bytes.len() / 2], "nothing was cut");
}

#[test]
fn a_declared_loss_begins_a_generation_that_says_so_and_takes_lost_ids_again() {
    let place = Place::new();
    let before = place.append(0..3);
    let copy = place.copy_to("older");
    let after = place.append(3..6);
    place.put_back(&copy);
    let declared = Ledger::declare_loss(&Environment::real(), &place.ledger(), keyring(), place.options());
    let (ledger, loss) = declared.unwrap();
    assert_eq!(
        (loss.lost.as_ref().unwrap().size, loss.retained.position.get(), loss.generation.0),
        (after, before, 2)
    );
    let first = ledger.event(loss.retained.position.next().unwrap()).unwrap();
    assert_eq!(first.event.kind, "ledger.recovered");
    append(&ledger, 4).unwrap();
    ledger.close().unwrap();
    let head = ledger.tree_head().unwrap();
    assert!(head.note.starts_with(&format!("main/{}/g2\n", ledger.id())), "{}", head.note);

    let size = place.append(5..7);
    assert!(size > head.size);
    let again = Ledger::declare_loss(&Environment::real(), &place.ledger(), keyring(), place.options());
    assert!(matches!(again.map(|_| ()).unwrap_err(), OpenError::NothingLost));
    // What was lost is no way back either.
    place.put_back(&copy);
    let refused = place.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::Generation { .. })), "{refused}");
}

#[test]
fn damage_that_nothing_mends_is_given_up_with_all_behind_it_and_nothing_before_it() {
    let place = Place::new();
    let before = place.append(0..3);
    let size = place.append(3..6);
    place.append(6..9);
    let segment = place.ledger().join("segments/0000000003.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let declared = Ledger::declare_loss(&Environment::real(), &place.ledger(), keyring(), place.options());
    let (ledger, loss) = declared.unwrap();
    let retained = loss.retained.position.get();
    assert!((before..size).contains(&retained), "{before} {retained} {size}");
    assert_eq!(ledger.status().writer, WriterState::Ready);
    // What stood there is kept, and its ids are taken again.
    let kept = fs::read_dir(place.ledger().join("quarantine")).unwrap().count();
    assert!(kept >= 2, "{kept}");
    (3..9).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
    assert!(place.append(9..10) > retained + 6);
    let ledger = Ledger::open_for_reading(&Environment::real(), &place.ledger(), keyring()).unwrap();
    assert!(matches!(ledger.status().writer, WriterState::ReadOnly(ReadOnlyReason::ForReading)));
}

#[test]
fn two_copies_that_share_an_anchor_do_not_both_go_on() {
    let place = Place::new();
    place.append(0..3);
    let copy = place.copy_to("copy");
    let here = place.open().unwrap();
    let there = Ledger::open(&Environment::real(), &copy, keyring(), place.options()).unwrap();
    append(&here, 10).unwrap();
    append(&there, 11).unwrap();
    here.close().unwrap();
    there.close().unwrap();
    let (given_out, contradicted) = (here.tree_head().unwrap().size, there.head().position.get());
    assert_eq!(given_out, contradicted);
    let there = there.tree_head().unwrap().size;
    assert!(there < contradicted, "what the anchor contradicts is not given out");
    assert!(
        place.anchor().recall(&"main".parse().unwrap()).unwrap().unwrap() == here.tree_head().unwrap().note
    );
    place.put_back(&copy);
    let refused = place.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::OtherRoot { .. })), "{refused}");
}

#[test]
fn an_anchor_that_does_not_answer_stops_only_who_requires_it() {
    let place = Place::new();
    // A file where its folder has to be.
    let anchors = place.folder.path().join("anchors");
    fs::write(&anchors, "x").unwrap();
    let mut options = place.options();
    let size = place.append(0..3);
    let ledger = place.open().unwrap();
    append(&ledger, 3).unwrap();
    ledger.close().unwrap();
    assert!(ledger.status().heads.unanchored_for.is_some());

    options.heads.as_mut().unwrap().anchor_required = true;
    let refused =
        Ledger::open(&Environment::real(), &place.ledger(), keyring(), options).map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::Anchor(_)), "{refused}");
    fs::remove_file(&anchors).unwrap();
    assert!(place.append(4..5) > size, "it is moved as soon as it answers");
    assert!(place.anchor().recall(&"main".parse().unwrap()).unwrap().is_some());
}
