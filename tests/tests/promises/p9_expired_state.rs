//! P9 where the retention policy removed events that decisions rest on: what decides is the same, from the states that archives keep, in the
//! ledger itself and in one that is restored. Without such a state nothing is decided.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bitacora_archiver::{
    ArchiveLocation, ArchivePace, ArchiveProgress, ArchiveRun, ArchiveStore, Archiver, ExpiryMode,
    ExpiryReport, ExpiryResult, Objects, Outcome, Release, RestoreReport, RestoreScope, RestoringError,
    Rules, StoreSettings, StoredArchives, restore,
};
use bitacora_formats::{Event, Position};
use bitacora_governance::{ReactorState, State};
use bitacora_ledger::{
    AppendError, AppendRequest, Clock, Environment, HeadOptions, Ledger, MissingStateReason, NoArchives,
    OpenError, Options, ReactorChoice, state_rests_on,
};
use bitacora_tests::simulation::Simulation;
use bitacora_vocabulary::RetentionChanged;
use serde_json::json;

use crate::p8_no_allow_without_a_record::{event, state};
use crate::random_acts::RandomRequests;
use crate::workload::{FOLDER, all, keyring, machine_with_ledger, options, wait_for_proof};

const PACE: ArchivePace = ArchivePace::Full { threads: 1 };
/// The sender of the policy.
const OPERATOR: &str = "operator:0";
/// The folder of a restored ledger.
const AGAIN: &str = "/data/ledgers/again";

/// A machine with a governed ledger, and a store of archives that outlives it.
struct ExpiringMachine {
    machine: Simulation,
    store: tempfile::TempDir,
    acts: RandomRequests,
}

impl ExpiringMachine {
    /// One on which calls were decided in several sessions; all of them but the last one are in archives of 256 events, and released.
    fn archived(seed: u64) -> Self {
        let machine = machine_with_ledger(seed);
        let mut lived =
            Self { machine, store: tempfile::tempdir().unwrap(), acts: RandomRequests::new(seed) };
        let ledger = lived.open(FOLDER);
        lived.acts.first().into_iter().for_each(|event| append(&ledger, vec![event]).unwrap());
        let rule = json!({"rule": "all", "keep_days": 1, "shorter_because": "a test"});
        let policy = json!({"rules": [rule], "reason": "a test"});
        let policy: RetentionChanged = serde_json::from_value(policy).unwrap();
        ledger.change_retention(&policy, Some(OPERATOR)).unwrap();
        ledger.close().unwrap();
        for _ in 0..3 {
            let ledger = lived.open(FOLDER);
            lived.act(&ledger, 160);
            ledger.close().unwrap();
        }
        let ledger = lived.open(FOLDER);
        lived.archive(&ledger, FOLDER);
        ledger.close().unwrap();
        lived
    }

    fn objects(&self) -> Arc<dyn Objects> {
        let place = ArchiveLocation::Folder(self.store.path().to_owned());
        Arc::new(ArchiveStore::at(place, StoreSettings::default()))
    }

    fn environment(&self) -> Environment {
        let plain = self.machine.environment();
        let archives = StoredArchives::new(self.objects(), Arc::clone(&plain.disk), 1 << 20);
        Environment { archives: Arc::new(archives), ..plain }
    }

    fn try_open(&self, folder: &str) -> Result<Ledger, OpenError> {
        Ledger::open(&self.environment(), Path::new(folder), keyring(), governed())
    }

    fn open(&self, folder: &str) -> Ledger {
        let ledger = self.try_open(folder).unwrap();
        wait_for_proof(&ledger);
        ledger
    }

    /// Appends random requests; those that are refused leave nothing behind.
    fn act(&mut self, ledger: &Ledger, requests: usize) {
        let mut appended = 0;
        for _ in 0..requests {
            let request = self.acts.next(&state(ledger), self.machine.clock.now());
            self.machine.clock.advance(Duration::from_secs(request.seconds));
            let mut events = request.events;
            events.iter_mut().for_each(|event| event.datasubject = None);
            appended += usize::from(append(ledger, events).is_ok());
        }
        assert!(appended > requests / 3, "{appended} of {requests}");
    }

    fn archiver(&self, ledger: &Ledger, folder: &str) -> Archiver {
        let (environment, objects) = (self.environment(), self.objects());
        Archiver::new(ledger.clone(), Path::new(folder), &environment, &keyring(), objects, "cold".to_owned())
    }

    fn archive(&self, ledger: &Ledger, folder: &str) {
        let outcome = self.archive_with(ledger, folder, Release::IfProven);
        assert!(outcome.archived.len() > 1 && outcome.released.is_some(), "{outcome:?}");
    }

    fn archive_with(&self, ledger: &Ledger, folder: &str, release: Release) -> Outcome {
        let rules = Rules { is_forced: true, archive_events: 256, ..Rules::default() };
        let run = ArchiveRun { rules, pace: PACE, release };
        self.archiver(ledger, folder).run(&run).unwrap()
    }

    /// Expires everything that can go, and returns the number of events among it that decisions rest on.
    fn expire_all(&self) -> u64 {
        let ledger = self.open(FOLDER);
        self.machine.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
        let accepted = json!({"reason": "three days passed"});
        append(&ledger, vec![event("x.noted", "late".to_owned(), OPERATOR, &json!({"n": 1}))]).unwrap();
        if state(&ledger).clock_trust().jump().is_some() {
            append(&ledger, vec![event("clock.accepted", "accepted".to_owned(), OPERATOR, &accepted)])
                .unwrap();
        }
        let rules = ledger
            .expiry_rules(ledger.retention_history(|query| ledger.read(query)).unwrap())
            .unwrap()
            .unwrap();
        let mut reports: Vec<ExpiryReport> = Vec::new();
        let archiver = self.archiver(&ledger, FOLDER);
        archiver.expire(&rules, ExpiryMode::Remove, PACE, &mut |report| reports.push(report)).unwrap();
        ledger.close().unwrap();
        let removed = reports.iter().filter(|report| matches!(report.result, ExpiryResult::Removed { .. }));
        let kinds = removed.flat_map(|report| &report.kinds);
        kinds.filter(|(kind, _)| state_rests_on(kind)).map(|(_, events)| events).sum()
    }

    fn remove_from_index(&self, folder: &str, prefix: &str) {
        let (disk, index) = (self.environment().disk, Path::new(folder).join("index"));
        for entry in disk.list(&index).unwrap().into_iter().filter(|entry| entry.name.starts_with(prefix)) {
            disk.remove_file(&index.join(entry.name)).unwrap();
        }
    }

    fn restore(&self, ledger: &Ledger, reach: RestoreScope) -> Result<RestoreReport, RestoringError> {
        let environment = self.environment();
        let progress = ArchiveProgress::default();
        let from = (ledger.id(), reach);
        restore(&environment, &self.objects(), from, &keyring(), Path::new(AGAIN), &progress)
    }

    /// The archives in the store, in the order of their positions.
    fn archives(&self) -> Vec<PathBuf> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.store.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path);
                }
            }
        }
        found.into_iter().filter(|path| path.extension().is_some_and(|is| is == "bca")).collect()
    }
}

fn governed() -> Options {
    let heads = HeadOptions { every: Duration::from_secs(3_600), ..HeadOptions::default() };
    Options { heads: Some(heads), governing: ReactorChoice::Governance, ..options() }
}

fn append(ledger: &Ledger, events: Vec<Event<'static>>) -> Result<(), AppendError> {
    ledger.append(AppendRequest::of(events))?.wait().map(drop)
}

fn digest(state: &State) -> String {
    state.digests().unwrap().state.to_string()
}

/// The state after the event at a position, by its digest: folded from the first event on, or from a kept state.
fn digest_at(ledger: &Ledger, position: Position) -> String {
    let saved = ledger.saved_state(position, None).unwrap().unwrap();
    let mut made = State::default();
    ReactorState::restore(&mut made, position, &saved.bytes).unwrap();
    digest(&made)
}

#[test]
fn what_decides_is_the_same_behind_events_that_expired() {
    let lived = ExpiringMachine::archived(61);
    let ledger = lived.open(FOLDER);
    let (head, before) = (ledger.head().position, digest(&state(&ledger)));
    assert_eq!(digest_at(&ledger, head), before);
    ledger.close().unwrap();
    assert!(lived.expire_all() > 60);

    for what in ["with a snapshot", "without snapshots", "without tables"] {
        let ledger = lived.open(FOLDER);
        assert_eq!(digest_at(&ledger, head), before, "{what}");
        let now = digest(&state(&ledger));
        assert_eq!(now, digest_at(&ledger, ledger.head().position), "{what}");
        ledger.close().unwrap();
        let asked = Ledger::open_for_questions(
            &lived.environment(),
            Path::new(FOLDER),
            &keyring(),
            &"main".parse().unwrap(),
            &governed(),
        );
        let asked = asked.unwrap();
        assert_eq!(digest(&state(&asked)), now, "{what}");
        lived.remove_from_index(FOLDER, if what == "with a snapshot" { "state-" } else { "" });
    }
}

#[test]
fn a_restored_ledger_decides_as_the_first_one_and_is_archived_again() {
    let mut lived = ExpiringMachine::archived(62);
    assert!(lived.expire_all() > 60);
    let ledger = lived.open(FOLDER);
    let restored = lived.restore(&ledger, RestoreScope::Whole).unwrap();
    let end = Position::new(restored.events).unwrap();
    let before = digest_at(&ledger, end);
    ledger.close().unwrap();

    let again = lived.open(AGAIN);
    assert_eq!(digest_at(&again, end), before);
    assert_eq!(digest(&state(&again)), digest_at(&again, again.head().position));
    lived.act(&again, 200);
    again.close().unwrap();
    lived.remove_from_index(AGAIN, "");
    let again = lived.open(AGAIN);
    let (head, now) = (again.head().position, digest(&state(&again)));
    assert_eq!(digest_at(&again, head), now);
    lived.archive(&again, AGAIN);
    again.close().unwrap();
    lived.remove_from_index(AGAIN, "");
    let again = lived.open(AGAIN);
    assert_eq!(digest_at(&again, head), now, "from the archives of the restored ledger");
    assert!(!all(&again).unwrap().is_empty());
}

#[test]
fn as_much_as_there_is_comes_back_with_its_state() {
    let lived = ExpiringMachine::archived(63);
    let ledger = lived.open(FOLDER);
    let archives = lived.archives();
    let last = archives.last().unwrap();
    let behind = fs::read(last).unwrap();
    fs::remove_file(last).unwrap();
    let restored = lived.restore(&ledger, RestoreScope::AsFarAsPossible).unwrap();
    let end = Position::new(restored.events).unwrap();
    fs::write(last, behind).unwrap();
    let before = digest_at(&ledger, end);
    ledger.close().unwrap();
    lived.machine.disk.make_folders(Path::new("/data/old")).unwrap();
    let (disk, old) = (lived.environment().disk, Path::new("/data/old/again"));
    disk.rename(Path::new(AGAIN), old).unwrap();

    assert!(lived.expire_all() > 60);
    fs::remove_file(lived.archives().last().unwrap()).unwrap();
    let ledger = lived.open(FOLDER);
    let again = lived.restore(&ledger, RestoreScope::AsFarAsPossible).unwrap();
    ledger.close().unwrap();
    assert_eq!((again.events, again.root), (restored.events, restored.root));
    assert_eq!(digest_at(&lived.open(AGAIN), end), before);
}

#[test]
fn nothing_is_decided_without_the_state_behind_expired_events() {
    let lived = ExpiringMachine::archived(64);
    assert!(lived.expire_all() > 60);
    let ledger = lived.open(FOLDER);
    lived.restore(&ledger, RestoreScope::Whole).unwrap();
    ledger.close().unwrap();
    // The original, where the archive with the newest state is away.
    lived.remove_from_index(FOLDER, "state-");
    let last = lived.archives().pop().unwrap();
    let archive = fs::read(&last).unwrap();
    fs::remove_file(&last).unwrap();
    let refused = lived.try_open(FOLDER).map(drop).unwrap_err();
    let OpenError::State(missing) = refused else { panic!("{refused}") };
    assert!(matches!(missing.why, MissingStateReason::Archive(_)), "{missing}");
    fs::write(&last, archive).unwrap();
    lived.open(FOLDER).close().unwrap();

    // The restored one, without the state that it brought.
    let again =
        |environment: &Environment| Ledger::open(environment, Path::new(AGAIN), keyring(), governed());
    let without = Environment { archives: Arc::new(NoArchives), ..lived.environment() };
    let brought = PathBuf::from(AGAIN).join("restored-state.snp");
    let bytes = lived.machine.disk.contents(&brought).unwrap();
    lived.machine.disk.flip_bit(&brought, bytes.len() as u64 / 2, 3).unwrap();
    let refused = again(&without).map(drop).unwrap_err();
    let OpenError::State(missing) = refused else { panic!("{refused}") };
    assert!(matches!(missing.why, MissingStateReason::Restored { .. }), "{missing}");
    lived.machine.disk.unlink(&brought).unwrap();
    let refused = again(&without).map(drop).unwrap_err();
    let OpenError::State(missing) = refused else { panic!("{refused}") };
    assert!(matches!(missing.why, MissingStateReason::None { .. }), "{missing}");
    lived.machine.disk.put(&brought, &bytes).unwrap();
    again(&without).unwrap().close().unwrap();
}

/// Archives whose events are in segments too are away, or are no archives: the state of the last one that is whole is taken.
#[test]
fn an_older_state_is_taken_where_the_newest_ones_cannot_be_read() {
    let mut lived = ExpiringMachine::archived(65);
    assert!(lived.expire_all() > 60);
    let ledger = lived.open(FOLDER);
    lived.act(&ledger, 300);
    let newer = lived.archive_with(&ledger, FOLDER, Release::Never).archived;
    assert!(newer.len() > 1, "{newer:?}");
    let (head, before) = (ledger.head().position, digest(&state(&ledger)));
    let mut closed = before.clone();
    ledger.close().unwrap();
    let paths: Vec<PathBuf> = newer.iter().map(|archived| lived.store.path().join(&archived.name)).collect();
    for replacement in [None, Some(b"no archive".to_vec())] {
        for path in &paths {
            match &replacement {
                None => fs::remove_file(path).unwrap(),
                Some(bytes) => fs::write(path, bytes).unwrap(),
            }
        }
        lived.remove_from_index(FOLDER, "state-");
        let asked = Ledger::open_for_questions(
            &lived.environment(),
            Path::new(FOLDER),
            &keyring(),
            &"main".parse().unwrap(),
            &governed(),
        );
        assert_eq!(digest(&state(&asked.unwrap())), closed);
        let ledger = lived.open(FOLDER);
        assert_eq!(digest_at(&ledger, head), before);
        closed = digest(&state(&ledger));
        ledger.close().unwrap();
    }
}
