//! P11: what is sealed under an erased subject's key is unreadable, whatever crashes, fails, or is copied back.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::{Data, Event, Json, LedgerId, LedgerKeys, Position, SubjectFiles};
use bitacora_ledger::{
    Anchor, AppendRequest, EraseError, ErasedSubject, Erasure, ErasureMemory, ErasureRequest, FolderAnchor,
    HeadOptions, Ledger, OpenError, Options, StoredEvent,
};
use bitacora_tests::simulated_disk::{CrashPolicy, DiskCall, DiskFault, Effect, errno};
use bitacora_tests::simulation::Simulation;
use bitacora_vocabulary::{FreeText, SubjectErased, SubjectKeyId};

use crate::workload::{FOLDER, all, event, keyring, machine_with_ledger, open, options};

/// The subject that is erased.
const ADA: &str = "person/ada";
/// A subject that stays.
const BOB: &str = "person/bob";
/// A text of every event of the erased subject.
const CANARY: &str = "lives-in-hopwood-lane-12";
const ANCHORS: &str = "/anchors";

fn personal(number: u64, subject: &'static str) -> Event<'static> {
    let mut event = event(number);
    event.datasubject = Some(subject.into());
    let data = format!(r#"{{"of":"{subject}","note":"{CANARY}-{number}"}}"#);
    event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
    event
}

fn append(ledger: &Ledger, number: u64, subject: &'static str) -> Position {
    let request = AppendRequest::of(vec![personal(number, subject)]);
    ledger.append(request).unwrap().wait().unwrap().first
}

fn erase(ledger: &Ledger, subject: &str) -> Result<Erasure, EraseError> {
    erase_of(ledger, ErasedSubject::Named(subject))
}

fn erase_of(ledger: &Ledger, subject: ErasedSubject<'_>) -> Result<Erasure, EraseError> {
    let authority = FreeText::new("ticket 4711").unwrap();
    ledger.erase(&ErasureRequest { subject, authority, by: None, reason: None, actor: Some("admin:0") })
}

/// The events 0, 2 and 4 are the erased subject's; 1, 3 and 5 are not.
fn fill(ledger: &Ledger) -> Vec<Position> {
    (0..6).map(|number| append(ledger, number, if number % 2 == 0 { ADA } else { BOB })).collect()
}

/// The options of a ledger with an anchor, whose heads only a close makes.
fn anchored(machine: &Simulation) -> Options {
    let anchor = FolderAnchor::new(Arc::new(machine.disk.clone()), Path::new(ANCHORS));
    let every = Duration::from_secs(3_600);
    let anchor = Some(Arc::new(anchor) as Arc<dyn Anchor>);
    Options { heads: Some(HeadOptions { every, anchor, ..HeadOptions::default() }), ..options() }
}

fn open_anchored(machine: &Simulation) -> Result<Ledger, OpenError> {
    Ledger::open(&machine.environment(), Path::new(FOLDER), keyring(), anchored(machine))
}

fn settled(machine: &Simulation, seed: u64) -> Simulation {
    machine.after_crash(machine.disk.operation_count(), CrashPolicy::Everything, seed).unwrap()
}

fn stored(ledger: &Ledger, positions: &[Position]) -> Vec<StoredEvent<'static>> {
    positions.iter().map(|position| ledger.event(*position).unwrap()).collect()
}

/// Returns `true` if the subject's events are erased: all of them are, or none. The other subject's are whole.
fn is_erased(ledger: &Ledger, positions: &[Position], what: &str) -> bool {
    let stored = stored(ledger, positions);
    let mut erased = Vec::new();
    for (number, event) in (0..).zip(&stored) {
        assert!(!event.unreadable, "{what}: e{number}");
        if number % 2 == 1 {
            assert_eq!((&event.event, event.erased), (&personal(number, BOB), false), "{what}: e{number}");
            continue;
        }
        erased.push(event.erased);
        if event.erased {
            assert!(!format!("{:?}", event.event).contains(CANARY), "{what}: e{number}");
            assert_eq!(event.event.datasubject, None, "{what}: e{number}");
        } else {
            assert_eq!(event.event, personal(number, ADA), "{what}: e{number}");
        }
    }
    assert!(erased.iter().all(|one| *one == erased[0]), "{what}: {erased:?}");
    erased[0]
}

/// The keys that the log records as erased, with the places of their events.
fn recorded(ledger: &Ledger) -> Vec<(SubjectErased, Position)> {
    let events = all(ledger).unwrap().into_iter().filter(|stored| stored.event.kind == "subject.erased");
    let read = |stored: StoredEvent<'_>| match &stored.event.data {
        Data::Json(json) => (serde_json::from_slice(json.as_bytes()).unwrap(), stored.position),
        data => panic!("{data:?}"),
    };
    events.map(read).collect()
}

/// The files of subjects, with their contents.
fn key_files(machine: &Simulation) -> Vec<(PathBuf, Vec<u8>)> {
    let store = Path::new(FOLDER).join("subjects");
    let paths = machine.disk.paths().into_iter().filter(|path| path.starts_with(&store));
    paths.filter_map(|path| Some((path.clone(), machine.disk.contents(&path).ok()?))).collect()
}

/// The bytes of every file of the machine that hold these.
fn files_with(machine: &Simulation, bytes: &[u8]) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let contents = machine.disk.contents(path).unwrap_or_default();
        contents.windows(bytes.len()).any(|window| window == bytes)
    };
    machine.disk.paths().into_iter().filter(holds).collect()
}

/// The file of the key with this id.
fn key_file(key: SubjectKeyId) -> PathBuf {
    let digits = key.to_string();
    Path::new(FOLDER).join("subjects/by-id").join(&digits[..2]).join(&digits[2..])
}

/// The raw key and the wrapped one that this id stands for.
fn key_bytes(machine: &Simulation, ledger: LedgerId, key: SubjectKeyId) -> (Vec<u8>, Vec<u8>) {
    let file = machine.disk.contents(&key_file(key)).unwrap();
    let files = SubjectFiles::new(ledger, LedgerKeys::new(&keyring(), ledger).index_key().clone());
    let raw = files.open_key(&key.bytes(), &file).unwrap();
    (raw.expose().to_vec(), file[56..88].to_vec())
}

fn restore(machine: &Simulation, files: &[(PathBuf, Vec<u8>)]) {
    for (path, contents) in files {
        machine.disk.make_folders(path.parent().unwrap()).unwrap();
        machine.disk.put(path, contents).unwrap();
    }
}

#[test]
fn what_is_erased_is_found_before_and_nowhere_after() {
    let machine = machine_with_ledger(1_110);
    let ledger = open_anchored(&machine).unwrap();
    let positions = fill(&ledger);
    assert!(!is_erased(&ledger, &positions, "before"));
    let before = settled(&machine, 1);
    assert_eq!(key_files(&machine).len(), 4);

    let erased = erase(&ledger, ADA).unwrap();
    assert_eq!(erased.memory, ErasureMemory::Remembered);
    assert!(is_erased(&ledger, &positions, "at once"));
    let (event, at) = recorded(&ledger).pop().unwrap();
    assert_eq!((event.key, at), (erased.key, erased.position));
    let whole = ledger.event(at).unwrap().event;
    assert_eq!(whole.actor.as_deref(), Some("admin:0"));
    assert!(!format!("{whole:?}").contains("person"), "no name leads to the subject: {whole:?}");

    let (raw, wrapped) = key_bytes(&before, ledger.id(), erased.key);
    assert_eq!((files_with(&before, &raw).len(), files_with(&before, &wrapped).len()), (0, 1));
    for machine in [&machine, &settled(&machine, 2)] {
        assert_eq!(files_with(machine, &wrapped), [] as [PathBuf; 0]);
        assert_eq!(files_with(machine, &raw), [] as [PathBuf; 0]);
        assert_eq!(files_with(machine, CANARY.as_bytes()), [] as [PathBuf; 0]);
        assert_eq!(key_files(machine).len(), 2, "the other subject's");
    }

    // The subject is unknown from here on, and may be named again.
    assert!(matches!(erase(&ledger, ADA), Err(EraseError::Unknown)));
    assert!(matches!(erase(&ledger, "person/nobody"), Err(EraseError::Unknown)));
    let later = append(&ledger, 50, ADA);
    assert_eq!(ledger.event(later).unwrap().event, personal(50, ADA));
    ledger.close().unwrap();
    let ledger = open_anchored(&machine).unwrap();
    assert!(is_erased(&ledger, &positions, "after a restart"));
    assert_eq!(ledger.event(later).unwrap().event, personal(50, ADA));
    assert_eq!(recorded(&ledger).len(), 1);
    ledger.close().unwrap();
}

#[test]
fn words_that_name_the_subject_are_refused_and_nothing_is_recorded() {
    let machine = machine_with_ledger(1_111);
    let ledger = open(&machine).unwrap();
    let positions = fill(&ledger);
    let head = ledger.head().position;
    let words = FreeText::new("asked for by Person/Ada herself").unwrap();
    let ticket = FreeText::new("ticket").unwrap();
    for (authority, reason, member) in [(words.clone(), None, "authority"), (ticket, Some(words), "reason")] {
        let refused = ledger.erase(&ErasureRequest {
            subject: ErasedSubject::Named(ADA),
            authority,
            by: None,
            reason,
            actor: None,
        });
        assert!(matches!(refused, Err(EraseError::NamesSubject { member: named }) if named == member));
    }
    assert_eq!(ledger.head().position, head);
    assert!(!is_erased(&ledger, &positions, "refused"));
    ledger.close().unwrap();
}

#[test]
fn a_crash_at_any_moment_leaves_a_subject_or_its_erasure() {
    let machine = machine_with_ledger(1_112);
    let ledger = open_anchored(&machine).unwrap();
    let positions = fill(&ledger);
    let first = machine.disk.operation_count();
    let erased = erase(&ledger, ADA).unwrap();
    let acknowledged = machine.disk.operation_count();
    ledger.close().unwrap();
    let mut seen = [0, 0];
    for operation in first..=machine.disk.operation_count() {
        for policy in CrashPolicy::ALL {
            let what = format!("crash after {operation}, {policy:?}");
            let image = machine.after_crash(operation, policy, operation).unwrap();
            let ledger = open_anchored(&image).unwrap_or_else(|error| panic!("{what}: {error}"));
            let is_recorded = !recorded(&ledger).is_empty();
            assert_eq!(is_erased(&ledger, &positions, &what), is_recorded, "{what}");
            assert!(is_recorded || operation < acknowledged, "{what}: it was acknowledged");
            let has_key = image.disk.contents(&key_file(erased.key)).is_ok();
            assert_eq!(has_key, !is_recorded, "{what}: the key's file");
            ledger.close().unwrap();
            seen[usize::from(is_recorded)] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_failing_disk_leaves_nothing_erased_or_an_erasure_that_the_next_opening_finishes() {
    let mut outcomes = [0, 0, 0];
    for (call, place) in [
        (DiskCall::Open, "subjects"),
        (DiskCall::Write, "subjects"),
        (DiskCall::SyncAll, "subjects"),
        (DiskCall::RemoveFile, "subjects"),
        (DiskCall::SyncFolder, "subjects"),
        (DiskCall::Write, "segments"),
        (DiskCall::SyncData, "segments"),
        (DiskCall::CreateNew, "erased-keys"),
        (DiskCall::Rename, "erased-keys"),
        (DiskCall::CreateNew, "anchors"),
    ] {
        for (nth, effect) in [1, 2].into_iter().flat_map(|nth| [(nth, Effect::Without), (nth, Effect::With)])
        {
            let what = format!("{call:?} {nth} of {place}, {effect:?}");
            let machine = machine_with_ledger(1_113);
            let ledger = open_anchored(&machine).unwrap();
            let positions = fill(&ledger);
            machine.disk.inject(DiskFault::on(call, nth, errno::EIO).effect(effect).where_path_has(place));
            let outcome = erase(&ledger, ADA);
            machine.disk.clear_faults();
            match &outcome {
                Ok(_) => outcomes[0] += 1,
                Err(EraseError::Append(_)) => outcomes[1] += 1,
                Err(EraseError::Unfinished { .. }) => {
                    outcomes[2] += 1;
                    assert!(is_erased(&ledger, &positions, &what), "{what}: nothing is opened any more");
                }
                Err(error) => panic!("{what}: {error}"),
            }
            drop(ledger);
            let image = settled(&machine, 3);
            let ledger = open_anchored(&image).unwrap_or_else(|error| panic!("{what}: {error}"));
            let is_recorded = !recorded(&ledger).is_empty();
            assert_eq!(is_erased(&ledger, &positions, &what), is_recorded, "{what}");
            assert!(is_recorded || matches!(outcome, Err(EraseError::Append(_))), "{what}: {outcome:?}");
            assert_eq!(key_files(&image).len(), if is_recorded { 2 } else { 4 }, "{what}");
            ledger.close().unwrap();
        }
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

#[test]
fn keys_that_a_copy_brings_back_open_nothing_and_are_destroyed_again() {
    let machine = machine_with_ledger(1_114);
    let ledger = open(&machine).unwrap();
    let positions = fill(&ledger);
    let copy = key_files(&machine);
    erase(&ledger, ADA).unwrap();
    restore(&machine, &copy);
    assert!(is_erased(&ledger, &positions, "brought back while it runs"));
    let later = append(&ledger, 50, ADA);
    ledger.close().unwrap();

    let list = Path::new(FOLDER).join("erased-keys");
    let whole = machine.disk.contents(&list).unwrap();
    let flipped = {
        let mut bytes = whole.clone();
        bytes[40] ^= 1;
        bytes
    };
    for (what, list_bytes) in [("list", Some(&whole)), ("no list", None), ("a changed list", Some(&flipped))]
    {
        let machine = settled(&machine, 4);
        restore(&machine, &copy);
        match list_bytes {
            Some(bytes) => machine.disk.put(&list, bytes).unwrap(),
            None => machine.disk.unlink(&list).unwrap(),
        }
        let reading =
            Ledger::open_for_reading(&machine.environment(), Path::new(FOLDER), keyring(), None).unwrap();
        assert!(is_erased(&reading, &positions, what), "{what}, for reading");
        drop(reading);
        let ledger = open(&machine).unwrap();
        assert!(is_erased(&ledger, &positions, what), "{what}");
        let left = key_files(&machine);
        let names = left.iter().filter(|(path, _)| path.to_string_lossy().contains("by-name")).count();
        // The copy's name file stood in the place of the one that leads to the new key.
        assert_eq!((left.len() - names, names), (2, 1), "{what}: two keys are left, and one name");
        assert_eq!(ledger.event(later).unwrap().event, personal(50, ADA), "{what}");
        ledger.close().unwrap();
    }
}

#[test]
fn an_older_copy_of_the_whole_folder_learns_of_the_erasure_from_the_anchor() {
    let machine = machine_with_ledger(1_115);
    let ledger = open_anchored(&machine).unwrap();
    let positions = fill(&ledger);
    ledger.close().unwrap();
    let old: Vec<_> = machine.disk.paths().into_iter().filter(|path| path.starts_with(FOLDER)).collect();
    let old: Vec<_> =
        old.into_iter().filter_map(|path| Some((path.clone(), machine.disk.contents(&path).ok()?))).collect();

    let ledger = open_anchored(&machine).unwrap();
    let erased = erase(&ledger, ADA).unwrap();
    ledger.close().unwrap();
    for path in machine.disk.paths().into_iter().filter(|path| path.starts_with(FOLDER)) {
        if machine.disk.contents(&path).is_ok() {
            machine.disk.unlink(&path).unwrap();
        }
    }
    restore(&machine, &old);
    assert_eq!(key_files(&machine).len(), 4, "the copy has the key");
    assert!(matches!(open_anchored(&machine), Err(OpenError::RolledBack(_))));

    let (ledger, _) =
        Ledger::declare_loss(&machine.environment(), Path::new(FOLDER), keyring(), anchored(&machine))
            .unwrap();
    assert!(is_erased(&ledger, &positions, "the older copy"));
    assert_eq!(key_files(&machine).len(), 2, "the key is destroyed again");
    let again = recorded(&ledger);
    assert_eq!(again.len(), 1, "the log says it again: {again:?}");
    assert_eq!(again[0].0.key, erased.key);
    ledger.close().unwrap();
    let ledger = open_anchored(&machine).unwrap();
    assert_eq!(recorded(&ledger), again);
    ledger.close().unwrap();
}

#[test]
fn names_at_the_anchor_that_nobody_sealed_erase_nothing() {
    let machine = machine_with_ledger(1_116);
    let ledger = open_anchored(&machine).unwrap();
    let positions = fill(&ledger);
    ledger.close().unwrap();
    let by_id = key_files(&machine).into_iter().find(|(path, _)| path.to_string_lossy().contains("by-id"));
    let path = by_id.unwrap().0;
    let digits = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let id = digits(path.parent().unwrap()) + &digits(&path);
    let folder = Path::new(ANCHORS).join("main.erased");
    machine.disk.make_folders(&folder).unwrap();
    for forged in [id.clone(), format!("{id}-{}", "0".repeat(64)), "x".repeat(200)] {
        machine.disk.put(&folder.join(forged), b"").unwrap();
    }
    let ledger = open_anchored(&machine).unwrap();
    assert!(!is_erased(&ledger, &positions, "forged"));
    assert_eq!(recorded(&ledger), []);
    ledger.close().unwrap();
}

#[test]
fn events_that_are_appended_while_their_subject_is_erased_are_erased_by_the_next_erasure() {
    let machine = machine_with_ledger(1_117);
    let ledger = open(&machine).unwrap();
    let appended = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u64)
            .map(|writer| {
                let ledger = &ledger;
                scope.spawn(move || {
                    (0..60).map(|n| append(ledger, writer * 1_000 + n, ADA)).collect::<Vec<_>>()
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            assert!(matches!(erase(&ledger, ADA), Ok(_) | Err(EraseError::Unknown)));
        }
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(matches!(erase(&ledger, ADA), Ok(_) | Err(EraseError::Unknown)));
    let readable = stored(&ledger, &appended).into_iter().filter(|stored| !stored.erased).count();
    assert_eq!((readable, key_files(&machine).len()), (0, 0), "no key is left that no name leads to");
    ledger.close().unwrap();
}

#[test]
fn an_erasure_that_the_disk_did_not_finish_is_finished_by_the_next_request() {
    let machine = machine_with_ledger(1_118);
    let ledger = open(&machine).unwrap();
    let positions = fill(&ledger);
    let fault = DiskFault::on(DiskCall::RemoveFile, 1, errno::EIO).where_path_has("by-id");
    machine.disk.inject(fault);
    let Err(EraseError::Unfinished { position, .. }) = erase(&ledger, ADA) else { panic!("it was finished") };
    assert_eq!(key_files(&machine).len(), 3, "the key is still there");
    let again = erase(&ledger, ADA).unwrap();
    assert_eq!((again.position, key_files(&machine).len()), (position, 2));
    assert!(is_erased(&ledger, &positions, "finished"));
    assert!(matches!(erase(&ledger, ADA), Err(EraseError::Unknown)));
    ledger.close().unwrap();
}

#[test]
fn a_name_that_leads_to_a_key_of_before_is_not_taken_for_an_erasure() {
    let machine = machine_with_ledger(1_119);
    let ledger = open(&machine).unwrap();
    fill(&ledger);
    let is_name = |(path, _): &(PathBuf, Vec<u8>)| path.to_string_lossy().contains("by-name");
    let names: Vec<_> = key_files(&machine).into_iter().filter(is_name).collect();
    let erased = erase(&ledger, ADA).unwrap();
    let later = append(&ledger, 50, ADA);
    ledger.close().unwrap();
    restore(&machine, &names);
    let ledger = open(&machine).unwrap();
    let refused = erase(&ledger, ADA);
    assert!(
        matches!(refused, Err(EraseError::OlderName { position }) if position == erased.position),
        "{refused:?}"
    );
    // An event that is sealed under the newer key leads to it.
    erase_of(&ledger, ErasedSubject::OfEvent { position: later, named: None }).unwrap();
    assert!(stored(&ledger, &[later])[0].erased);
    ledger.close().unwrap();
}

#[test]
fn a_subject_whose_name_leads_nowhere_is_erased_by_an_event_of_it() {
    let machine = machine_with_ledger(1_120);
    let ledger = open(&machine).unwrap();
    let positions = fill(&ledger);
    let of_event = |position| erase_of(&ledger, ErasedSubject::OfEvent { position, named: None });
    for (path, bytes) in key_files(&machine) {
        if path.to_string_lossy().contains("by-name") {
            machine.disk.put(&path, &bytes[1..]).unwrap();
        }
    }
    assert!(matches!(erase(&ledger, ADA), Err(EraseError::Append(_))));
    assert!(matches!(of_event(Position::FIRST), Err(EraseError::UnknownOfEvent { .. })), "it names nobody");
    assert!(matches!(of_event(Position::new(1_000).unwrap()), Err(EraseError::Event(_))), "past the head");
    let named = FreeText::new("asked for by Person/Ada").unwrap();
    let subject = ErasedSubject::OfEvent { position: positions[0], named: None };
    let request = ErasureRequest { subject, authority: named, by: None, reason: None, actor: None };
    let refused = ledger.erase(&request);
    assert!(matches!(refused, Err(EraseError::NamesSubject { member: "authority" })), "{refused:?}");
    let refused = erase_of(&ledger, ErasedSubject::OfEvent { position: positions[0], named: Some(BOB) });
    assert!(matches!(refused, Err(EraseError::OtherSubject { .. })), "a mistyped position: {refused:?}");
    assert!(!is_erased(&ledger, &positions, "refused"));

    erase_of(&ledger, ErasedSubject::OfEvent { position: positions[2], named: Some(ADA) }).unwrap();
    assert!(is_erased(&ledger, &positions, "by an event"));
    assert!(matches!(of_event(positions[4]), Err(EraseError::UnknownOfEvent { .. })), "erased before");
    assert_eq!(recorded(&ledger).len(), 1);
    // The damaged name went along: the subject may be named again.
    let later = append(&ledger, 50, ADA);
    assert_eq!(ledger.event(later).unwrap().event, personal(50, ADA));
    ledger.close().unwrap();
}
