//! P7: a loss that its owner declares is said in the log, or is not begun.
//! After a crash at any moment, no opening goes on without a word where something was given up.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::Data;
use bitacora_ledger::{
    Anchor, DeclaredLoss, FolderAnchor, HeadOptions, Ledger, OpenError, Options, ReadOnlyReason, Rollback,
    WriterState,
};
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, Effect, errno};
use bitacora_tests::simulation::Simulation;
use serde_json::Value;

use crate::p7_no_rollback::append;
use crate::workload::{FOLDER, all, keyring, machine_with_ledger, options as without_heads};

const ANCHORS: &str = "/anchors";

/// A ledger that lost something, on a machine of its own.
struct Scene {
    what: &'static str,
    /// Before it was lost.
    whole: Simulation,
    machine: Simulation,
    has_anchor: bool,
}

fn anchor(machine: &Simulation) -> FolderAnchor {
    FolderAnchor::new(Arc::new(machine.disk.clone()), Path::new(ANCHORS))
}

fn anchored_note(machine: &Simulation) -> Option<String> {
    anchor(machine).load(&"main".parse().unwrap()).unwrap()
}

/// Only a close makes a head, so that a test knows when.
fn with_heads(machine: &Simulation, has_anchor: bool) -> Options {
    let every = Duration::from_secs(3_600);
    let anchor = has_anchor.then(|| Arc::new(anchor(machine)) as Arc<dyn Anchor>);
    Options { heads: Some(HeadOptions { every, anchor, ..HeadOptions::default() }), ..without_heads() }
}

fn open_with(machine: &Simulation, options: Options) -> Result<Ledger, OpenError> {
    Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), options)
}

fn segment(number: u64) -> PathBuf {
    PathBuf::from(format!("{FOLDER}/segments/{number:010}.seg"))
}

/// Opens it so, appends three events and closes it.
fn round(machine: &Simulation, options: Options, first: u64) {
    let ledger = open_with(machine, options).unwrap();
    (first..first + 3).for_each(|number| append(&ledger, number).unwrap());
    ledger.close().unwrap();
}

/// The machine as it stands, with all of it on the disk, and a history that begins here.
fn settled(machine: &Simulation, seed: u64) -> Simulation {
    machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, seed).unwrap()
}

fn flip_the_middle(machine: &Simulation, number: u64) {
    let bytes = machine.disk.contents(&segment(number)).unwrap().len() as u64;
    machine.disk.flip_bit(&segment(number), bytes / 2, 0).unwrap();
}

fn cut_in_half(machine: &Simulation, number: u64) {
    let bytes = machine.disk.contents(&segment(number)).unwrap();
    machine.disk.put(&segment(number), &bytes[..bytes.len() / 2]).unwrap();
}

/// Segments 2 and 3, each under a head if the ledger has some, and 4, which `last` writes.
fn scene(
    what: &'static str,
    seed: u64,
    (is_headed, has_anchor): (bool, bool),
    last: impl FnOnce(&Simulation),
    harm: impl FnOnce(&Simulation),
) -> Scene {
    let machine = machine_with_ledger(seed);
    let options = || if is_headed { with_heads(&machine, has_anchor) } else { without_heads() };
    round(&machine, options(), 0);
    round(&machine, options(), 3);
    last(&machine);
    let (whole, machine) = (settled(&machine, seed + 1), settled(&machine, seed));
    harm(&machine);
    Scene { what, whole, machine: settled(&machine, seed + 2), has_anchor }
}

fn without_an_anchor() -> Vec<Scene> {
    let headed = |machine: &Simulation| round(machine, with_heads(machine, false), 6);
    let unheaded = |machine: &Simulation| round(machine, without_heads(), 6);
    let (some, none) = ((true, false), (false, false));
    vec![
        scene("cut below a head", 80, some, headed, |machine| cut_in_half(machine, 4)),
        scene("damage with segments behind it", 81, some, headed, |machine| flip_the_middle(machine, 3)),
        scene("damage above the last head", 82, some, unheaded, |machine| flip_the_middle(machine, 4)),
        scene("a segment missing, and no head at all", 83, none, unheaded, |machine| {
            machine.disk.unlink(&segment(3)).unwrap();
        }),
        scene("damage, and no head at all", 84, none, unheaded, |machine| flip_the_middle(machine, 2)),
    ]
}

fn with_an_anchor() -> Vec<Scene> {
    let anchored = |machine: &Simulation| round(machine, with_heads(machine, true), 6);
    let unanchored = |machine: &Simulation| round(machine, with_heads(machine, false), 6);
    let unheaded = |machine: &Simulation| round(machine, without_heads(), 6);
    let both = (true, true);
    vec![
        scene("a head lost that is anchored", 85, both, anchored, |machine| {
            machine.disk.unlink(&segment(4)).unwrap();
        }),
        scene("damage above what is anchored", 86, both, unheaded, |machine| flip_the_middle(machine, 4)),
        scene("a head lost that is newer than the anchored", 87, both, unanchored, |machine| {
            flip_the_middle(machine, 3);
        }),
        scene("a head lost after the anchored", 88, both, unanchored, |machine| cut_in_half(machine, 4)),
        scene("damage under an anchor that begins", 89, (false, true), unheaded, |machine| {
            flip_the_middle(machine, 3);
        }),
    ]
}

impl Scene {
    fn options(&self, machine: &Simulation) -> Options {
        with_heads(machine, self.has_anchor)
    }

    fn declare(&self, machine: &Simulation) -> Result<(Ledger, DeclaredLoss), OpenError> {
        let options = self.options(machine);
        Ledger::declare_loss(&machine.environment(), Path::new(FOLDER), keyring(), options)
    }

    /// Checks the opening after a crash: the log says the loss, or it is to be declared as before. After `is_said` only the first.
    fn judge(&self, machine: &Simulation, expected: &DeclaredLoss, is_said: bool, when: &str) {
        let what = format!("{}, {when}", self.what);
        let opened = open_with(machine, self.options(machine));
        let is_ready = match &opened {
            Ok(ledger) => match writer_once_proven(ledger) {
                WriterState::Ready => true,
                WriterState::ReadOnly(ReadOnlyReason::Corrupt(_)) => false,
                other => panic!("{what}: {other:?}"),
            },
            Err(OpenError::RolledBack(_)) => false,
            Err(error) => panic!("{what}: {error}"),
        };
        assert!(is_ready || !is_said, "{what}: {:?}", opened.err());
        let ledger = if is_ready {
            opened.unwrap()
        } else {
            drop(opened);
            let (ledger, loss) = self.declare(machine).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(loss.generation, expected.generation, "{what}");
            ledger
        };
        self.check(&ledger, expected, &what);
        append(&ledger, 1_000).unwrap();
        ledger.close().unwrap();
        let note = ledger.tree_head().unwrap().note.clone();
        drop(ledger);
        if self.has_anchor {
            assert_eq!(anchored_note(machine).as_deref(), Some(&*note), "{what}");
        }
        let nothing = self.declare(machine).map(|_| ()).unwrap_err();
        assert!(matches!(nothing, OpenError::NothingLost), "{what}: {nothing}");
        let again = open_with(machine, self.options(machine)).unwrap();
        assert_eq!(again.status().writer, WriterState::Ready, "{what}");
        self.check(&again, expected, &what);
    }

    /// The log says the loss once, where what is left of it ends, and the head that was lost.
    fn check(&self, ledger: &Ledger, expected: &DeclaredLoss, what: &str) {
        let stored = all(ledger).unwrap_or_else(|error| panic!("{what}: {error}"));
        let said: Vec<_> = stored.iter().filter(|stored| stored.event.kind == "ledger.recovered").collect();
        assert_eq!(said.len(), 1, "{what}: it goes on without a word, or says it twice");
        assert_eq!(said[0].position.get(), expected.retained.position.get() + 1, "{what}");
        let Data::Json(json) = &said[0].event.data else { panic!("{what}: no data") };
        let data: Value = serde_json::from_slice(json.as_bytes()).unwrap();
        assert_eq!(data["generation"], expected.generation.0, "{what}");
        let lost = expected.lost.as_ref();
        let size = lost.map_or(Value::Null, |lost| lost.size.to_string().into());
        assert_eq!(data["lostHead"]["size"], size, "{what}");
        assert_eq!(data["lostHead"]["note"].as_str(), lost.and_then(|lost| lost.note.as_deref()), "{what}");
    }
}

/// Returns the state of the writer once all is proven. Segments that the opening did not read are proven after it; damage there is not
/// known before.
fn writer_once_proven(ledger: &Ledger) -> WriterState {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let status = ledger.status();
        if status.is_proven || !status.writer.is_ready() {
            return status.writer;
        }
        assert!(Instant::now() < patience, "no proof: {status:?}");
        std::thread::yield_now();
    }
}

/// Declares the loss, and lets power fail after every operation of the disk meanwhile.
fn crash_everywhere(scene: &Scene) {
    let machine = settled(&scene.machine, 7);
    let first = machine.disk.operation_count();
    let (ledger, loss) = scene.declare(&machine).unwrap();
    let said_at = machine.disk.operation_count();
    ledger.close().unwrap();
    drop(ledger);
    scene.judge(&settled(&machine, 8), &loss, true, "without a crash");
    for operation in first..=machine.disk.operation_count() {
        for policy in CrashPolicy::ALL {
            let image = machine.after_crash(operation, policy, operation).unwrap();
            let when = format!("a crash after operation {operation} of {said_at}, {policy:?}");
            scene.judge(&image, &loss, operation >= said_at, &when);
        }
        if operation % 10 == 0 {
            crash_again(scene, &machine, operation, &loss);
        }
    }
}

/// Lets power fail again while the owner goes on with what was declared.
fn crash_again(scene: &Scene, machine: &Simulation, operation: u64, loss: &DeclaredLoss) {
    let image = machine.after_crash(operation, CrashPolicy::Random, operation).unwrap();
    if image.disk.contents(&declaration()).is_err() {
        return;
    }
    let first = image.disk.operation_count();
    drop(scene.declare(&image));
    for inner in (first..=image.disk.operation_count()).step_by(3) {
        let again = image.after_crash(inner, CrashPolicy::Random, inner).unwrap();
        let when =
            format!("a crash after operation {operation}, and one after {inner} of the second declaration");
        scene.judge(&again, loss, false, &when);
    }
}

#[test]
fn a_crash_while_a_loss_is_declared_leaves_it_said_or_not_begun() {
    without_an_anchor().iter().for_each(crash_everywhere);
}

#[test]
fn a_crash_while_a_loss_is_declared_before_an_anchor_leaves_it_said_or_not_begun() {
    with_an_anchor().iter().for_each(crash_everywhere);
}

/// The machine as a crash leaves it that fell right before the log said the loss, and what had been declared.
fn crashed_at_the_last_moment(scene: &Scene) -> (Simulation, DeclaredLoss) {
    let machine = settled(&scene.machine, 7);
    let (ledger, loss) = scene.declare(&machine).unwrap();
    ledger.close().unwrap();
    let at = |operation| machine.after_crash(operation, CrashPolicy::Everything, operation).unwrap();
    let is_begun = |image: &Simulation| image.disk.contents(&declaration()).is_ok();
    let is_said = |image: &Simulation| {
        let reader = Ledger::open_for_reading(&image.environment(), Path::new(FOLDER), keyring(), None);
        // Events that are still damaged cannot all be read.
        let stored = all(&reader.unwrap()).unwrap_or_default();
        stored.iter().any(|stored| stored.event.kind == "ledger.recovered")
    };
    let mut images = (0..=machine.disk.operation_count()).map(at);
    let last = images.rfind(|image| is_begun(image) && !is_said(image)).unwrap();
    (settled(&last, 9), loss)
}

fn declaration() -> PathBuf {
    Path::new(FOLDER).join("declared-loss")
}

fn refusal(opened: Result<Ledger, OpenError>) -> Rollback {
    match opened.map(|_| ()) {
        Err(OpenError::RolledBack(rollback)) => rollback,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_declaration_that_cannot_be_read_is_damage_until_it_is_declared_again() {
    let scene = &without_an_anchor()[0];
    let (machine, _) = crashed_at_the_last_moment(scene);
    machine.disk.put(&declaration(), b"{").unwrap();
    let ledger = open_with(&machine, scene.options(&machine)).unwrap();
    let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = ledger.status().writer else {
        panic!("{:?}", ledger.status().writer)
    };
    assert_eq!(fault.file, "declared-loss");
    assert!(append(&ledger, 1_000).is_err());
    drop(ledger);
    let (ledger, loss) = scene.declare(&machine).unwrap();
    assert_eq!((loss.generation.0, loss.lost), (2, None));
    ledger.close().unwrap();
    drop(ledger);
    let ledger = open_with(&machine, scene.options(&machine)).unwrap();
    assert_eq!(ledger.status().writer, WriterState::Ready);
}

#[test]
fn a_declaration_is_not_gone_on_with_where_an_anchor_remembers_more_by_now() {
    let scene = &with_an_anchor()[0];
    let (machine, _) = crashed_at_the_last_moment(scene);
    let finished = settled(&machine, 11);
    let remember = |note: &str| machine.disk.put(&Path::new(ANCHORS).join("main.head"), note.as_bytes());
    let before = anchored_note(&machine).unwrap();

    // Another copy went on from what was lost here.
    let whole = &scene.whole;
    round(whole, scene.options(whole), 9);
    remember(&anchored_note(whole).unwrap()).unwrap();
    assert!(matches!(refusal(open_with(&machine, scene.options(&machine))), Rollback::Shorter { .. }));

    // Another copy has begun the generation that was to begin here.
    let (ledger, _) = scene.declare(&finished).unwrap();
    append(&ledger, 1_000).unwrap();
    ledger.close().unwrap();
    drop(ledger);
    remember(&anchored_note(&finished).unwrap()).unwrap();
    assert!(matches!(refusal(open_with(&machine, scene.options(&machine))), Rollback::Generation { .. }));
    assert!(machine.disk.contents(&declaration()).is_ok());

    remember(&before).unwrap();
    let (ledger, _) = scene.declare(&machine).unwrap();
    assert_eq!(ledger.status().writer, WriterState::Ready);
}

#[test]
fn a_declaration_gives_up_no_more_than_was_declared() {
    let scene = &without_an_anchor()[0];
    let (machine, loss) = crashed_at_the_last_moment(scene);
    flip_the_middle(&machine, 2);
    let ledger = open_with(&machine, scene.options(&machine)).unwrap();
    let writer = ledger.status().writer;
    assert!(matches!(writer, WriterState::ReadOnly(ReadOnlyReason::Corrupt(_))), "{writer:?}");
    drop(ledger);
    assert!(machine.disk.contents(&segment(3)).is_ok(), "what stands behind it is left there");
    flip_the_middle(&machine, 2);
    scene.judge(&machine, &loss, false, "once the damage is mended");
}

#[test]
fn a_declaration_is_dropped_where_its_owner_put_back_what_was_lost() {
    for scene in &without_an_anchor() {
        let (machine, _) = crashed_at_the_last_moment(scene);
        let declared = machine.disk.contents(&declaration()).unwrap();
        scene.whole.disk.put(&declaration(), &declared).unwrap();
        let nothing = scene.declare(&scene.whole).map(|_| ()).unwrap_err();
        assert!(matches!(nothing, OpenError::NothingLost), "{}: {nothing}", scene.what);
        let ledger = open_with(&scene.whole, scene.options(&scene.whole)).unwrap();
        assert_eq!(writer_once_proven(&ledger), WriterState::Ready, "{}", scene.what);
        let stored = all(&ledger).unwrap();
        assert!(stored.iter().all(|stored| stored.event.kind != "ledger.recovered"), "{}", scene.what);
        assert!(scene.whole.disk.contents(&declaration()).is_err(), "{}", scene.what);
    }
}

#[test]
fn a_loss_that_the_full_disk_let_nobody_record_is_recorded_once_there_is_room() {
    let scene = &without_an_anchor()[0];
    let machine = settled(&scene.machine, 7);
    let (_, loss) = scene.declare(&settled(&machine, 8)).unwrap();
    // Room for what is declared, and none for a segment.
    machine.disk.set_capacity(Some(machine.disk.used_bytes() + 16 * 1024));
    let failed = scene.declare(&machine).map(|_| ()).unwrap_err();
    assert!(matches!(failed, OpenError::Unrecorded { .. }), "{failed}");
    assert!(machine.disk.contents(&declaration()).is_ok(), "{failed}");
    machine.disk.set_capacity(None);
    scene.judge(&machine, &loss, false, "after a full disk");
}

/// The calls that a declaration makes of the disk, each of which may fail.
const CALLS: [DiskCall; 11] = [
    DiskCall::Open,
    DiskCall::CreateNew,
    DiskCall::Read,
    DiskCall::Write,
    DiskCall::SyncData,
    DiskCall::SyncAll,
    DiskCall::Stat,
    DiskCall::List,
    DiskCall::Rename,
    DiskCall::RemoveFile,
    DiskCall::SyncFolder,
];

#[test]
fn whatever_call_fails_an_error_says_whether_the_next_opening_goes_on_with_the_loss() {
    let scene = &with_an_anchor()[1];
    let mut told = [0, 0];
    for call in CALLS {
        for nth in 1.. {
            let machine = settled(&scene.machine, 7);
            let effect = if nth % 2 == 0 { Effect::With } else { Effect::Without };
            machine.disk.inject(DiskFault::on(call, nth, errno::EIO).effect(effect));
            let declared = scene.declare(&machine);
            let is_met = machine.disk.pending_faults() == 0;
            machine.disk.clear_faults();
            if let Err(error) = declared.map(|_| ()) {
                let is_declared = machine.disk.contents(&declaration()).is_ok();
                let says_so = matches!(error, OpenError::Unrecorded { .. });
                assert_eq!(says_so, is_declared, "{call:?} {nth}: {error}");
                told[usize::from(says_so)] += 1;
            }
            if !is_met {
                break;
            }
        }
    }
    assert!(told.iter().all(|times| *times > 5), "before and after it was declared: {told:?}");
}
