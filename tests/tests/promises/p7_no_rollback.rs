//! P7: a ledger older than, or different from, its anchor's memory is refused at start.
//! A loss goes on only where its owner declares it, in a generation that says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Keyring, LedgerName, UnverifiedTreeHead};
use bitacora_ledger::{
    Anchor, AppendError, AppendRequest, CreateError, DeclaredLoss, Environment, FolderAnchor, HeadOptions,
    Ledger, OpenError, Options, ReadOnlyReason, RealDisk, Rollback, WriterState,
};
use bitacora_tests::folders::copy_folder;
use bitacora_tests::seeded::SeededRandom;
use bitacora_tests::simulation::SeededEntropy;
use tempfile::TempDir;

use crate::workload::{event, keyring, options as without_heads};

/// A data folder and, beside it, an anchor.
pub(crate) struct AnchorFixture {
    folder: TempDir,
}

impl AnchorFixture {
    pub(crate) fn new() -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        fixture.create();
        fixture
    }

    fn create(&self) {
        let name: LedgerName = "main".parse().unwrap();
        Ledger::create(&Environment::real(), &self.ledger(), &name, &keyring(), &without_heads()).unwrap();
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    pub(crate) fn anchor(&self) -> FolderAnchor {
        FolderAnchor::new(Arc::new(RealDisk), &self.anchors())
    }

    pub(crate) fn options(&self) -> Options {
        // Only what ends a segment or the ledger makes a head, so that a test knows when.
        let every = Duration::from_secs(3_600);
        let heads = HeadOptions { every, anchor: Some(Arc::new(self.anchor())), ..HeadOptions::default() };
        Options { heads: Some(heads), ..without_heads() }
    }

    pub(crate) fn open(&self) -> Result<Ledger, OpenError> {
        self.open_with(|_| ())
    }

    /// Opens it with other options for its heads.
    pub(crate) fn open_with(&self, change: impl FnOnce(&mut HeadOptions)) -> Result<Ledger, OpenError> {
        let mut options = self.options();
        options.heads.as_mut().map(change);
        Ledger::open(&Environment::real(), &self.ledger(), keyring(), options)
    }

    pub(crate) fn declare_loss(&self) -> Result<(Ledger, DeclaredLoss), OpenError> {
        Ledger::declare_loss(&Environment::real(), &self.ledger(), keyring(), self.options())
    }

    fn anchors(&self) -> PathBuf {
        self.folder.path().join("anchors")
    }

    fn anchored_note(&self) -> Option<String> {
        self.anchor().load(&"main".parse().unwrap()).unwrap()
    }

    /// Opens it, appends events with these numbers, and closes it; the size of its last head.
    pub(crate) fn append(&self, numbers: std::ops::Range<u64>) -> u64 {
        let ledger = self.open().unwrap();
        numbers.for_each(|number| append(&ledger, number).unwrap());
        ledger.close().unwrap();
        ledger.tree_head().unwrap().size
    }

    pub(crate) fn copy_to(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        copy_folder(&self.ledger(), &copy).unwrap();
        copy
    }

    /// Puts a copy in the ledger's place.
    pub(crate) fn put_back(&self, copy: &Path) {
        fs::remove_dir_all(self.ledger()).unwrap();
        copy_folder(copy, &self.ledger()).unwrap();
    }
}

pub(crate) fn append(ledger: &Ledger, number: u64) -> Result<(), AppendError> {
    ledger.append(AppendRequest::of(vec![event(number)]))?.wait().map(|_| ())
}

#[test]
fn every_close_leaves_a_head_over_all_events_that_the_anchor_remembers() {
    let fixture = AnchorFixture::new();
    for round in 0..3 {
        let size = fixture.append(round * 5..round * 5 + 5);
        let note = fixture.anchor().load(&"main".parse().unwrap()).unwrap().unwrap();
        let head = UnverifiedTreeHead::parse(&note).unwrap();
        let head = head.verify_with_chain(keyring().signing_chain()).unwrap();
        assert_eq!(head.head().size, size);
        let ledger =
            Ledger::open_for_reading(&Environment::real(), &fixture.ledger(), keyring(), None).unwrap();
        assert_eq!((ledger.head().position.get(), ledger.head().tree_root), (size, head.head().root));
    }
}

#[test]
fn an_older_copy_does_not_open() {
    let fixture = AnchorFixture::new();
    let before = fixture.append(0..3);
    let copy = fixture.copy_to("older");
    let after = fixture.append(3..6);
    fixture.put_back(&copy);
    let refused = fixture.open().map(|_| ()).unwrap_err();
    let OpenError::RolledBack(Rollback::Shorter { known, found, .. }) = refused else { panic!("{refused}") };
    assert_eq!((known, found), (after, before));
}

#[test]
fn a_copy_that_went_on_by_itself_does_not_open() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    let copy = fixture.copy_to("copy");
    let size = fixture.append(3..6);
    // As long as the other, with other events, by somebody who has the keyring and no anchor.
    let elsewhere = Options { heads: None, ..fixture.options() };
    let ledger = Ledger::open(&Environment::real(), &copy, keyring(), elsewhere).unwrap();
    (10..20).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
    fixture.put_back(&copy);
    let refused = fixture.open().map(|_| ()).unwrap_err();
    let OpenError::RolledBack(Rollback::OtherRoot { size: compared, .. }) = refused else {
        panic!("{refused}")
    };
    assert_eq!(compared, size);
}

#[test]
fn a_new_ledger_in_its_place_does_not_open() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    fs::remove_dir_all(fixture.ledger()).unwrap();
    let name: LedgerName = "main".parse().unwrap();
    let made = Ledger::create(&Environment::real(), &fixture.ledger(), &name, &keyring(), &fixture.options());
    assert!(matches!(made, Err(CreateError::KnownToAnchor(_))), "{made:?}");
    fixture.create();
    let refused = fixture.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::OtherLedger { .. })), "{refused}");
}

#[test]
fn a_new_ledger_of_another_keyring_in_its_place_does_not_open() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    fs::remove_dir_all(fixture.ledger()).unwrap();
    let name: LedgerName = "main".parse().unwrap();
    let mut random = SeededRandom::new(99);
    let foreign = Keyring::generate(&mut |bytes| random.fill(bytes));
    Ledger::create(&Environment::real(), &fixture.ledger(), &name, &foreign, &without_heads()).unwrap();
    let options = Options { name: Some(name.clone()), ..fixture.options() };
    let open = |keyring: Arc<Keyring>| {
        Ledger::open(&Environment::real(), &fixture.ledger(), keyring, options.clone())
            .map(|_| ())
            .unwrap_err()
    };
    let refused = open(keyring());
    assert!(matches!(&refused, OpenError::RolledBack(Rollback::OtherLedger { .. })), "{refused}");
    // With the thief's own keyring, what our anchor remembers shows that it is not ours.
    let refused = open(Arc::new(foreign));
    assert!(matches!(&refused, OpenError::RolledBack(_)), "{refused}");
    // An owner whose anchor remembers nothing has brought the wrong keyring, as far as anybody can tell.
    fs::remove_dir_all(fixture.anchors()).unwrap();
    let refused = open(keyring());
    assert!(matches!(&refused, OpenError::Keyring { .. }), "{refused}");
}

#[test]
fn a_new_ledger_that_took_the_identity_of_the_old_one_does_not_open() {
    let fixture = AnchorFixture::new();
    let name: LedgerName = "main".parse().unwrap();
    let mut random = SeededRandom::new(98);
    let foreign = Keyring::generate(&mut |bytes| random.fill(bytes));
    let create = |keyring: &Keyring| {
        fs::remove_dir_all(fixture.ledger()).unwrap();
        // The same chance gives the same identity.
        let environment = Environment { entropy: Arc::new(SeededEntropy::new(5)), ..Environment::real() };
        Ledger::create(&environment, &fixture.ledger(), &name, keyring, &without_heads()).unwrap();
    };
    create(&keyring());
    fixture.append(0..3);
    create(&foreign);
    let options = Options { name: Some(name.clone()), ..fixture.options() };
    let refused = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options).map(|_| ());
    assert!(matches!(refused, Err(OpenError::RolledBack(Rollback::OtherSigner(_)))), "{refused:?}");
}

#[test]
fn a_tail_that_was_cut_below_a_head_is_not_taken_for_torn() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    let segments = fixture.ledger().join("segments");
    let last = fs::read_dir(&segments).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() / 2]).unwrap();
    let ledger = fixture.open_with(|heads| heads.anchor = None).unwrap();
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
    let fixture = AnchorFixture::new();
    let before = fixture.append(0..3);
    let copy = fixture.copy_to("older");
    let after = fixture.append(3..6);
    fixture.put_back(&copy);
    let declared =
        Ledger::declare_loss(&Environment::real(), &fixture.ledger(), keyring(), fixture.options());
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

    let size = fixture.append(5..7);
    assert!(size > head.size);
    let again = Ledger::declare_loss(&Environment::real(), &fixture.ledger(), keyring(), fixture.options());
    assert!(matches!(again.map(|_| ()).unwrap_err(), OpenError::NothingLost));
    // The lost ledger is no way back either.
    fixture.put_back(&copy);
    let refused = fixture.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::Generation { .. })), "{refused}");
}

#[test]
fn two_copies_that_share_an_anchor_do_not_both_go_on() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    let copy = fixture.copy_to("copy");
    let here = fixture.open().unwrap();
    let there = Ledger::open(&Environment::real(), &copy, keyring(), fixture.options()).unwrap();
    append(&here, 10).unwrap();
    append(&there, 11).unwrap();
    here.close().unwrap();
    there.close().unwrap();
    let (given_out, contradicted) = (here.tree_head().unwrap().size, there.head().position.get());
    assert_eq!(given_out, contradicted);
    let there = there.tree_head().unwrap().size;
    assert!(there < contradicted, "what the anchor contradicts is not given out");
    assert!(
        fixture.anchor().load(&"main".parse().unwrap()).unwrap().unwrap() == here.tree_head().unwrap().note
    );
    fixture.put_back(&copy);
    let refused = fixture.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::OtherRoot { .. })), "{refused}");
}

#[test]
fn an_anchor_that_does_not_answer_stops_only_who_requires_it() {
    let fixture = AnchorFixture::new();
    // A file where its folder has to be.
    let anchors = fixture.anchors();
    fs::write(&anchors, "x").unwrap();
    let size = fixture.append(0..3);
    let ledger = fixture.open().unwrap();
    append(&ledger, 3).unwrap();
    ledger.close().unwrap();
    assert!(ledger.status().heads.unanchored_for.is_some());

    let refused = fixture.open_with(|heads| heads.anchor_required = true).map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::Anchor(_)), "{refused}");
    fs::remove_file(&anchors).unwrap();
    let ledger = fixture.open_with(|heads| heads.anchor_is_new = true).unwrap();
    ledger.close().unwrap();
    assert!(ledger.tree_head().unwrap().size > size);
    assert_eq!(
        fixture.anchored_note().unwrap(),
        ledger.tree_head().unwrap().note,
        "it is moved once it answers"
    );
}

#[test]
fn an_anchor_that_lost_its_memory_is_not_taken_for_a_new_one() {
    let fixture = AnchorFixture::new();
    let size = fixture.append(0..3);
    let copy = fixture.copy_to("older");
    fixture.append(3..6);
    fixture.put_back(&copy);
    // As a folder looks whose disk is not mounted: empty, or not there.
    for is_there in [true, false] {
        fs::remove_dir_all(fixture.anchors()).unwrap();
        if is_there {
            fs::create_dir(fixture.anchors()).unwrap();
        }
        let refused = fixture.open().map(|_| ()).unwrap_err();
        assert!(
            matches!(refused, OpenError::RolledBack(Rollback::Forgotten { size: under }) if under == size),
            "{refused}"
        );
        assert!(fixture.declare_loss().is_err(), "nothing is known to be lost");
        assert_eq!(fixture.anchors().exists(), is_there);
        assert!(
            !is_there || fs::read_dir(fixture.anchors()).unwrap().next().is_none(),
            "nothing is left in it"
        );
        fs::create_dir_all(fixture.anchors()).unwrap();
    }
    // Bytes that are no tree head at all are replaced by an owner who says so, and only then.
    fs::write(fixture.anchors().join("main.head"), "").unwrap();
    assert!(matches!(fixture.open().map(|_| ()), Err(OpenError::RolledBack(Rollback::Untrusted(_)))));
    let ledger = fixture.open_with(|heads| heads.anchor_is_new = true).unwrap();
    assert!(fixture.anchored_note().is_some(), "it remembers from the beginning");
    ledger.close().unwrap();
    fixture.put_back(&copy);
    let older = fixture.open_with(|heads| heads.anchor_is_new = true).map(|_| ()).unwrap_err();
    assert!(matches!(older, OpenError::RolledBack(Rollback::Shorter { .. })), "{older}");
}

#[test]
fn an_anchor_remembers_a_ledger_before_it_has_a_head() {
    let fixture = AnchorFixture::new();
    let ledger = fixture.open().unwrap();
    let head = UnverifiedTreeHead::parse(&fixture.anchored_note().unwrap()).unwrap();
    assert_eq!((head.size(), ledger.tree_head()), (1, None));
    drop(ledger);
    fs::remove_dir_all(fixture.ledger()).unwrap();
    fixture.create();
    assert!(fixture.open().is_err(), "another one was made in its place");
}

#[test]
fn an_anchor_whose_disk_goes_away_is_waited_for_and_not_written_to_meanwhile() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    let away = fixture.folder.path().join("away");
    let ledger = fixture.open_with(|heads| heads.every = Duration::from_millis(20)).unwrap();
    fs::rename(fixture.anchors(), &away).unwrap();
    fs::create_dir(fixture.anchors()).unwrap();
    append(&ledger, 3).unwrap();
    wait_until(|| ledger.status().heads.unanchored_for.is_some());
    append(&ledger, 4).unwrap();
    wait_until(|| ledger.status().heads.size == ledger.head().position.get());
    assert_eq!(ledger.status().writer, WriterState::Ready, "that it is not there contradicts nothing");
    assert_eq!(fs::read_dir(fixture.anchors()).unwrap().count(), 0);
    fs::remove_dir(fixture.anchors()).unwrap();
    fs::rename(&away, fixture.anchors()).unwrap();
    wait_until(|| ledger.status().heads.unanchored_for.is_none());
    append(&ledger, 5).unwrap();
    ledger.close().unwrap();
    assert_eq!(fixture.anchored_note().unwrap(), ledger.tree_head().unwrap().note);
}

fn wait_until(is_so: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_declaration_that_did_not_reach_the_anchor_is_brought_to_it() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    let copy = fixture.copy_to("older");
    fixture.append(3..6);
    fixture.put_back(&copy);
    let before = fs::read(fixture.anchors().join("main.head")).unwrap();
    let (ledger, loss) = fixture.declare_loss().unwrap();
    ledger.close().unwrap();
    // As if it had been killed before it moved the anchor.
    fs::write(fixture.anchors().join("main.head"), &before).unwrap();
    let nothing = fixture.declare_loss().map(|_| ()).unwrap_err();
    assert!(matches!(nothing, OpenError::NothingLost), "{nothing}");
    fixture.append(6..8);
    assert!(
        fixture.anchored_note().unwrap().lines().next().unwrap().ends_with(&format!("/g{}", loss.generation))
    );
}

#[test]
fn what_is_left_from_before_a_declared_loss_goes_on_in_a_generation_after_it() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    let oldest = fixture.copy_to("oldest");
    fixture.append(3..6);
    fixture.put_back(&oldest);
    let (ledger, _) = fixture.declare_loss().unwrap();
    append(&ledger, 7).unwrap();
    ledger.close().unwrap();
    let lost = ledger.tree_head().unwrap();
    // That is gone as well, and the oldest copy is all there is.
    fixture.put_back(&oldest);
    let (ledger, loss) = fixture.declare_loss().unwrap();
    assert_eq!(loss.generation.0, 3);
    assert_eq!(loss.lost.unwrap().note.as_deref(), Some(&*lost.note));
    ledger.close().unwrap();
    fixture.append(8..9);
}

#[test]
fn another_ledger_does_not_open_under_its_name() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    for (name, opens) in [("main", true), ("other", false)] {
        let name: LedgerName = name.parse().unwrap();
        let options = Options { name: Some(name.clone()), ..fixture.options() };
        let opened = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options);
        let read = Ledger::open_for_reading(&Environment::real(), &fixture.ledger(), keyring(), Some(&name));
        for opened in [opened, read] {
            match opened.map(|ledger| ledger.close()) {
                Ok(closed) => assert!(opens && closed.is_ok()),
                Err(refused) => assert!(
                    !opens && matches!(refused, OpenError::RolledBack(Rollback::OtherName { .. })),
                    "{refused}"
                ),
            }
        }
    }
}

#[test]
fn another_ledger_is_not_read_in_its_place_for_being_damaged() {
    let fixture = AnchorFixture::new();
    fixture.append(0..3);
    fs::remove_dir_all(fixture.ledger()).unwrap();
    fixture.create();
    let elsewhere = fixture.open_with(|heads| heads.anchor = None).unwrap();
    (0..3).for_each(|number| append(&elsewhere, number).unwrap());
    elsewhere.close().unwrap();
    let segment = fixture.ledger().join("segments/0000000002.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let refused = fixture.open().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(Rollback::OtherLedger { .. })), "{refused}");
}

/// A folder named from where the test runs, by one name; removed in the end.
struct RelativeFolder(String);

impl Drop for RelativeFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn an_anchor_may_be_named_from_where_one_stands() {
    let here = RelativeFolder(format!("anchors-of-a-test-{}", std::process::id()));
    let (anchor, main) = (FolderAnchor::new(Arc::new(RealDisk), Path::new(&here.0)), "main".parse().unwrap());
    anchor.swap(&main, None, "o\n1\nfirst").unwrap();
    assert_eq!(anchor.load(&main).unwrap().as_deref(), Some("o\n1\nfirst"));
}
