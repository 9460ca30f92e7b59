//! Tree heads at witnesses: they are brought there, and their cosignatures are kept.
//! A ledger that a witness contradicts is not opened, or ends taking appends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{LedgerName, UnverifiedTreeHead, WitnessPolicy};
use bitacora_ledger::{
    Environment, HeadOptions, Ledger, OpenError, Options, PublishedHead, ReadOnlyReason, Rollback, Witness,
    Witnesses, WriterState,
};
use bitacora_tests::folders::copy_folder;
use bitacora_tests::simulated_disk::{DiskCall, DiskFault, errno};
use bitacora_tests::witness::{COSIGNED_AT, TestWitness, WitnessBehavior};
use tempfile::TempDir;

use crate::p7_no_rollback::append;
use crate::workload::{FOLDER, keyring, machine_with_ledger, options as without_heads};

/// A ledger without an anchor, and its witnesses, of which `quorum` are enough.
struct WitnessFixture {
    folder: TempDir,
    witnesses: Vec<TestWitness>,
    quorum: usize,
}

impl WitnessFixture {
    fn new(witnesses: usize, quorum: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let witnesses = (1..=witnesses).map(|number| {
            TestWitness::new(&format!("w{number}.example"), u8::try_from(number).unwrap()).unwrap()
        });
        let fixture = Self { folder, witnesses: witnesses.collect(), quorum };
        let name: LedgerName = "main".parse().unwrap();
        Ledger::create(&Environment::real(), &fixture.ledger(), &name, &keyring(), &without_heads()).unwrap();
        // The key that heads are verified with is known once the ledger was open.
        let heads = Some(HeadOptions { every: HOUR, ..HeadOptions::default() });
        let options = Options { heads, ..without_heads() };
        let ledger = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options).unwrap();
        let key = ledger.verifier_key().unwrap();
        fixture.witnesses.iter().for_each(|witness| witness.trust(key.clone()));
        ledger.close().unwrap();
        fixture
    }

    fn ledger(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    fn policy(&self) -> WitnessPolicy {
        let mut text = String::new();
        for (number, witness) in self.witnesses.iter().enumerate() {
            text += &format!("witness w{number} {}\n", witness.witness_key());
        }
        let names: Vec<String> = (0..self.witnesses.len()).map(|number| format!("w{number}")).collect();
        text += &format!("group all-of-them {} {}\nquorum all-of-them\n", self.quorum, names.join(" "));
        WitnessPolicy::parse(text.as_bytes()).unwrap()
    }

    fn options(&self, every: Duration) -> Options {
        let witnesses = self.witnesses.iter().map(|witness| Arc::new(witness.clone()) as Arc<dyn Witness>);
        let witnesses = Witnesses { every, ..Witnesses::new(self.policy(), witnesses.collect()) };
        let heads = HeadOptions { every, witnesses: Some(witnesses), ..HeadOptions::default() };
        Options { heads: Some(heads), ..without_heads() }
    }

    /// Opens it so that only the close makes a head and brings it to the witnesses.
    fn open(&self) -> Result<Ledger, OpenError> {
        Ledger::open(&Environment::real(), &self.ledger(), keyring(), self.options(HOUR))
    }

    /// Opens it, appends events with these numbers, and closes it; how many events it has then.
    fn append(&self, numbers: std::ops::Range<u64>) -> u64 {
        let ledger = self.open().unwrap();
        numbers.for_each(|number| append(&ledger, number).unwrap());
        ledger.close().unwrap();
        ledger.head().position.get()
    }

    fn copy(&self) -> PathBuf {
        let copy = self.folder.path().join("copy");
        copy_folder(&self.ledger(), &copy).unwrap();
        copy
    }

    fn put_back(&self, copy: &Path) {
        fs::remove_dir_all(self.ledger()).unwrap();
        copy_folder(copy, &self.ledger()).unwrap();
    }

    /// The newest note beside a segment: its size, and how many of the witnesses cosigned it.
    fn kept(&self) -> Option<(u64, usize)> {
        let notes = fs::read_dir(self.ledger().join("tree")).unwrap().map(|entry| entry.unwrap().path());
        let note = notes.filter(|path| path.extension().is_some_and(|end| end == "cosigned")).max()?;
        Some(self.judged(&fs::read_to_string(note).unwrap()))
    }

    fn judged(&self, note: &str) -> (u64, usize) {
        let head = UnverifiedTreeHead::parse(note).unwrap();
        let head = head.verify_with_chain(keyring().signing_chain()).unwrap();
        let keys = self.policy().witness_keys();
        let cosignatures = head.note().cosigned_by(&keys).unwrap();
        assert!(cosignatures.iter().all(|cosignature| cosignature.seconds == COSIGNED_AT));
        (head.head().size, cosignatures.len())
    }
}

const HOUR: Duration = Duration::from_secs(3_600);
const SOON: Duration = Duration::from_millis(5);

fn wait_for(ledger: &Ledger, what: &str, is_so: impl Fn(&Ledger) -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !is_so(ledger) {
        assert!(Instant::now() < patience, "{what}: {:?}", ledger.status());
        std::thread::yield_now();
    }
}

fn witnessed(ledger: &Ledger) -> Option<Arc<PublishedHead>> {
    ledger.witnessed_head()
}

#[test]
fn every_close_leaves_a_head_over_all_events_that_a_quorum_cosigned() {
    let fixture = WitnessFixture::new(3, 2);
    fixture.witnesses[2].set_behavior(WitnessBehavior::Unreachable);
    for round in 0..3 {
        let size = fixture.append(round * 5..round * 5 + 5);
        assert_eq!(fixture.kept(), Some((size, 2)), "two of three have cosigned it");
        assert_eq!((fixture.witnesses[0].size(), fixture.witnesses[2].size()), (size, 0));
    }
    let ledger = fixture.open().unwrap();
    let head = witnessed(&ledger).unwrap();
    assert_eq!(fixture.judged(&head.note), fixture.kept().unwrap(), "a restart goes on from what was kept");
    ledger.close().unwrap();
}

#[test]
fn heads_are_brought_round_while_events_arrive_and_who_was_away_catches_up() {
    let fixture = WitnessFixture::new(2, 2);
    fixture.witnesses[1].set_behavior(WitnessBehavior::Unreachable);
    let options = fixture.options(SOON);
    let ledger = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options).unwrap();
    (0..20).for_each(|number| append(&ledger, number).unwrap());
    let failures = |ledger: &Ledger| ledger.status().witnessed.unwrap().witnesses[1].failures;
    wait_for(&ledger, "the first cosigns", |_| fixture.witnesses[0].size() > 20);
    wait_for(&ledger, "the second fails", |ledger| failures(ledger) > 1);
    assert!(witnessed(&ledger).is_none(), "one of two is no quorum");
    assert!(ledger.status().witnessed.unwrap().unmet_for.is_some());
    assert_eq!(fixture.kept().map(|(_, cosigned)| cosigned), Some(1), "what there is, is kept");
    fixture.witnesses[1].set_behavior(WitnessBehavior::Honest);
    append(&ledger, 20).unwrap();
    wait_for(&ledger, "both cosign", |ledger| witnessed(ledger).is_some());
    assert!(witnessed(&ledger).unwrap().size > 20);
    wait_for(&ledger, "it is told", |ledger| ledger.status().witnessed.unwrap().unmet_for.is_none());
    ledger.close().unwrap();
    assert_eq!(fixture.kept(), Some((ledger.head().position.get(), 2)));
}

#[test]
fn who_lost_its_memory_or_its_answer_is_asked_again_from_where_it_stands() {
    let fixture = WitnessFixture::new(1, 1);
    fixture.append(0..3);
    fixture.witnesses[0].forget();
    let size = fixture.append(3..6);
    assert_eq!(fixture.kept(), Some((size, 1)), "it is asked again from 0");
    fixture.witnesses[0].set_behavior(WitnessBehavior::Forgetful);
    let later = fixture.append(6..9);
    assert_eq!(
        (fixture.kept(), fixture.witnesses[0].size()),
        (Some((size, 1)), later),
        "the answer was lost"
    );
    fixture.witnesses[0].set_behavior(WitnessBehavior::Honest);
    let latest = fixture.append(9..12);
    assert_eq!(fixture.kept(), Some((latest, 1)));
}

#[test]
fn a_newer_head_without_a_quorum_does_not_displace_one_that_has_it() {
    let fixture = WitnessFixture::new(2, 2);
    let options = fixture.options(SOON);
    let ledger = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options).unwrap();
    append(&ledger, 0).unwrap();
    wait_for(&ledger, "both cosign", |ledger| witnessed(ledger).is_some_and(|head| head.size >= 4));
    fixture.witnesses[1].set_behavior(WitnessBehavior::Unreachable);
    let size = witnessed(&ledger).unwrap().size;
    (1..4).for_each(|number| append(&ledger, number).unwrap());
    wait_for(&ledger, "the first cosigns more", |_| fixture.witnesses[0].size() > size + 3);
    ledger.close().unwrap();
    let (kept, cosigned) = fixture.kept().unwrap();
    assert_eq!((kept, cosigned), (witnessed(&ledger).unwrap().size, 2));
    assert!(fixture.witnesses[0].size() > kept);
}

#[test]
fn no_answer_that_is_not_its_own_cosignature_is_believed() {
    let wrong = [
        WitnessBehavior::FalseSignature,
        WitnessBehavior::ForeignLine,
        WitnessBehavior::Garbage,
        WitnessBehavior::Huge,
        WitnessBehavior::NonsenseConflict,
        WitnessBehavior::Failing,
    ];
    for behavior in wrong {
        let fixture = WitnessFixture::new(2, 1);
        fixture.witnesses[1].set_behavior(behavior);
        let size = fixture.append(0..3);
        assert_eq!(fixture.kept(), Some((size, 1)), "{behavior:?}: the other one is believed");
        let ledger = fixture.open().unwrap();
        append(&ledger, 9).unwrap();
        ledger.close().unwrap();
        assert_eq!(ledger.status().witnessed.unwrap().witnesses[1].size, 0, "{behavior:?}");
        assert!(ledger.status().witnessed.unwrap().witnesses[1].failures > 0, "{behavior:?}");
    }
}

#[test]
fn an_older_copy_is_refused_by_a_witness_alone_and_left_as_it_is() {
    let fixture = WitnessFixture::new(2, 2);
    let before = fixture.append(0..3);
    let copy = fixture.copy();
    let after = fixture.append(3..6);
    fixture.put_back(&copy);
    fixture.witnesses[0].set_behavior(WitnessBehavior::Unreachable);
    let refused = fixture.open().map(|_| ()).unwrap_err();
    let OpenError::RolledBack(Rollback::Witnessed { witness, known, found }) = refused else {
        panic!("{refused}")
    };
    assert_eq!((witness.as_str(), known, found), ("w2.example", after, before));
    assert_eq!(contents(&fixture.ledger()), contents(&copy));
    // Without the heads beside its segments too.
    for entry in fs::read_dir(fixture.ledger().join("tree")).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|end| end == "heads" || end == "cosigned") {
            fs::remove_file(entry).unwrap();
        }
    }
    assert!(matches!(fixture.open().map(|_| ()), Err(OpenError::RolledBack(Rollback::Witnessed { .. }))));
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(contents(&entry));
        } else {
            found.push((entry.clone(), fs::read(&entry).unwrap()));
        }
    }
    let strip = |(path, bytes): (PathBuf, Vec<u8>)| {
        (path.strip_prefix(folder).map(Path::to_owned).unwrap_or(path), bytes)
    };
    let mut found: Vec<_> = found.into_iter().map(strip).collect();
    found.sort();
    found
}

#[test]
fn a_copy_that_went_on_by_itself_ends_taking_appends() {
    let fixture = WitnessFixture::new(1, 1);
    fixture.append(0..3);
    let copy = fixture.copy();
    let size = fixture.append(3..6);
    // Longer than the other, with other events, by somebody who has the keyring and asks no witness.
    let elsewhere = Options { heads: None, ..without_heads() };
    let ledger = Ledger::open(&Environment::real(), &copy, keyring(), elsewhere).unwrap();
    (10..30).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
    fixture.put_back(&copy);
    let options = fixture.options(SOON);
    let ledger = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options).unwrap();
    let diverged = |ledger: &Ledger| {
        matches!(ledger.status().writer, WriterState::ReadOnly(ReadOnlyReason::Diverged(_)))
    };
    wait_for(&ledger, "another history", diverged);
    assert!(append(&ledger, 99).is_err());
    let (signed, cosigned) = (ledger.tree_head().unwrap().size, fixture.witnesses[0].size());
    std::thread::sleep(20 * SOON);
    assert_eq!((ledger.tree_head().unwrap().size, cosigned), (signed, size), "nothing more is signed");
    ledger.close().unwrap();
}

#[test]
fn a_cosigned_head_is_given_out_only_once_it_is_kept() {
    let machine = machine_with_ledger(710);
    let open = |heads| {
        let options = Options { heads: Some(heads), ..without_heads() };
        Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), options).unwrap()
    };
    let witness = TestWitness::new("w.example", 1).unwrap();
    let ledger = open(HeadOptions { every: HOUR, ..HeadOptions::default() });
    witness.trust(ledger.verifier_key().unwrap());
    ledger.close().unwrap();
    drop(ledger);

    let failing = DiskFault::on(DiskCall::CreateNew, 1, errno::EIO).or(DiskCall::Write).or(DiskCall::Rename);
    machine.disk.inject(failing.where_path_has(".cosigned").lasting());
    let policy = format!("witness w {}\nquorum w\n", witness.witness_key());
    let policy = WitnessPolicy::parse(policy.as_bytes()).unwrap();
    let witnesses = Witnesses::new(policy, vec![Arc::new(witness.clone())]);
    let witnesses = Some(Witnesses { every: SOON, ..witnesses });
    let ledger = open(HeadOptions { every: SOON, witnesses, ..HeadOptions::default() });
    append(&ledger, 0).unwrap();
    wait_for(&ledger, "it is cosigned", |ledger| witness.size() >= ledger.head().position.get());
    std::thread::sleep(20 * SOON);
    assert!(witnessed(&ledger).is_none(), "what may be lost again is given to nobody");
    assert_eq!(ledger.status().writer, WriterState::Ready);
    machine.disk.clear_faults();
    wait_for(&ledger, "it is kept", |ledger| witnessed(ledger).is_some());
    assert!(machine.disk.paths().iter().any(|path| path.extension().is_some_and(|end| end == "cosigned")));
    ledger.close().unwrap();
}

#[test]
fn witnesses_that_are_silent_hold_up_no_append_and_a_close_only_for_its_bound() {
    let fixture = WitnessFixture::new(1, 1);
    fixture.witnesses[0].set_behavior(WitnessBehavior::Slow);
    let began = Instant::now();
    let options = fixture.options(SOON);
    let ledger = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), options).unwrap();
    let opened = began.elapsed();
    assert!(opened < Duration::from_secs(15), "an opening waits 5 s at most: {opened:?}");
    let began = Instant::now();
    (0..50).for_each(|number| append(&ledger, number).unwrap());
    assert!(began.elapsed() < Duration::from_secs(10), "appends wait for no witness");
    let began = Instant::now();
    ledger.close().unwrap();
    assert!(began.elapsed() < Duration::from_secs(15), "a close waits 5 s at most: {:?}", began.elapsed());
}

#[test]
fn a_loss_that_only_a_witness_remembers_can_be_declared() {
    let fixture = WitnessFixture::new(1, 1);
    let before = fixture.append(0..3);
    let copy = fixture.copy();
    let after = fixture.append(3..6);
    fixture.put_back(&copy);
    let declared =
        Ledger::declare_loss(&Environment::real(), &fixture.ledger(), keyring(), fixture.options(HOUR));
    let (ledger, loss) = declared.unwrap();
    let lost = loss.lost.as_ref().unwrap();
    assert_eq!((lost.size, lost.root, loss.retained.position.get()), (after, None, before));
    append(&ledger, 4).unwrap();
    fixture.witnesses[0].trust(ledger.verifier_key().unwrap());
    ledger.close().unwrap();
    let size = ledger.head().position.get();
    assert_eq!(ledger.status().writer, WriterState::Closed);
    assert_eq!(witnessed(&ledger).unwrap().size, size, "the new generation is another log to a witness");
    fixture.append(5..6);
}

#[test]
fn a_cosigned_head_beyond_the_end_of_the_log_is_no_torn_tail() {
    let fixture = WitnessFixture::new(1, 1);
    fixture.append(0..3);
    let segments = fixture.ledger().join("segments");
    let last = fs::read_dir(&segments).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() / 2]).unwrap();
    for entry in fs::read_dir(fixture.ledger().join("tree")).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|end| end == "heads") {
            fs::remove_file(entry).unwrap();
        }
    }
    let without = Options { heads: Some(HeadOptions::default()), ..without_heads() };
    let ledger = Ledger::open(&Environment::real(), &fixture.ledger(), keyring(), without).unwrap();
    let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = ledger.status().writer else {
        panic!("{:?}", ledger.status().writer)
    };
    assert!(fault.file.ends_with(".cosigned"), "{fault}");
    ledger.close().unwrap();
    assert_eq!(fs::read(&last).unwrap(), bytes[..bytes.len() / 2], "nothing was cut");
}
