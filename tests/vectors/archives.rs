//! Ledgers whose first segments were released, with their archives; and the same with one thing wrong.

use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bitacora_archive_format::UnverifiedManifest;
use bitacora_archiver::{
    ArchiveLocation, ArchivePace, ArchiveRun, ArchiveStore, Archiver, Objects, READ_CACHE_BYTES, Release,
    Rules, StoreSettings, StoredArchives,
};
use bitacora_formats::{
    Data, Event, HeadStep, HeadsWalk, Json, Keyring, Micros, ReleasedSegment, TreeHash, TreeHead,
    UnverifiedTreeHead,
};
use bitacora_ledger::{AppendRequest, Entropy, Environment, HeadOptions, Ledger, Options, SystemEntropy};
use bitacora_verify::{
    ArchiveProblem, CheckedArchive, Gap, KnownHead, Report, TailRetries, Verdict, VerifyOptions,
    verify_ledger,
};
use tempfile::TempDir;

use crate::case::{Case, ExpectedFinding, Files, NOTE, segment};
use crate::judge::{ARCHIVES, Judge, flips};
use crate::second::SecondVerifier;

/// A ledger with archives of which the second holds events of a segment that is still here.
static ARCHIVED: LazyLock<ArchivedLedger> = LazyLock::new(ArchivedLedger::make);

struct ArchivedLedger {
    keyring: Arc<Keyring>,
    files: Files,
    /// The archives by their names beside the ledger, in order.
    archives: Vec<String>,
    manifests: Vec<String>,
    released: Vec<String>,
}

fn event(number: u64) -> Event<'static> {
    let mut event = Event::new(format!("e{number}"), "urn:test", "x.noted", format!("s/{}", number % 7));
    event.data = Data::Json(Json::check(format!(r#"{{"n":{number}}}"#).into_bytes()).unwrap());
    event
}

impl ArchivedLedger {
    fn make() -> Self {
        let folder = TempDir::new().unwrap();
        let (ledger_folder, store) = (folder.path().join("ledgers/main"), folder.path().join("archives"));
        fs::create_dir_all(folder.path().join("ledgers")).unwrap();
        let objects: Arc<dyn Objects> =
            Arc::new(ArchiveStore::at(ArchiveLocation::Folder(store), StoreSettings::default()));
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let mut environment = Environment::real();
        let disk = Arc::clone(&environment.disk);
        environment.archives = Arc::new(StoredArchives::new(Arc::clone(&objects), disk, READ_CACHE_BYTES));
        let heads = HeadOptions { every: Duration::from_millis(20), ..HeadOptions::default() };
        let options = Options { heads: Some(heads), ..Options::small() };
        Ledger::create(&environment, &ledger_folder, &"main".parse().unwrap(), &keyring, &options).unwrap();
        let mut next = 0;
        // Each opening writes a segment of its own.
        for (events, archives) in [(300, false), (300, false), (700, true), (500, true), (300, false)] {
            let (keyring, options) = (Arc::clone(&keyring), options.clone());
            let ledger = Ledger::open(&environment, &ledger_folder, Arc::clone(&keyring), options).unwrap();
            let upto = next + events;
            while next < upto {
                let request = (next..next + 20).map(event).collect();
                ledger.append(AppendRequest::of(request)).unwrap().wait().unwrap();
                next += 20;
            }
            if archives {
                archive(&ledger, &ledger_folder, &environment, &keyring, &objects);
            }
            ledger.close().unwrap();
        }
        Self::read(folder.path(), keyring)
    }

    fn read(data: &Path, keyring: Arc<Keyring>) -> Self {
        let ledger = data.join("ledgers/main");
        let mut files = Files::read(&ledger);
        let mut manifests = Vec::new();
        for entry in fs::read_dir(ledger.join("archives")).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("archives/{}", path.file_name().unwrap().to_str().unwrap());
            if name.ends_with(".manifest") {
                files.set(&name, fs::read(path).unwrap());
                manifests.push(name);
            }
        }
        let mut archives = Vec::new();
        read_archives(&data.join("archives"), ARCHIVES, &mut files, &mut archives);
        manifests.sort();
        archives.sort();
        let released = files.0.keys().filter(|name| is_released(name)).cloned().collect();
        Self { keyring, files, archives, manifests, released }
    }

    /// The same with a change.
    fn changed(&self, change: impl FnOnce(&mut Files)) -> Files {
        let mut files = self.files.clone();
        change(&mut files);
        files
    }

    /// Returns an archive's name in findings.
    fn shown(&self, number: usize) -> &str {
        self.archives[number].strip_prefix(&format!("{ARCHIVES}/")).unwrap()
    }
}

/// Archives all that can be, and lets go what it holds.
fn archive(
    ledger: &Ledger,
    folder: &Path,
    environment: &Environment,
    keyring: &Arc<Keyring>,
    objects: &Arc<dyn Objects>,
) {
    let began = Instant::now();
    while !ledger.status().is_proven || ledger.status().heads.size + 64 <= ledger.head().position.get() {
        assert!(began.elapsed() < Duration::from_secs(30), "no tree head covers it");
        std::thread::sleep(Duration::from_millis(5));
    }
    let rules = Rules { is_forced: true, ..Rules::default() };
    let archiver =
        Archiver::new(ledger.clone(), folder, environment, keyring, Arc::clone(objects), "cold".to_owned());
    let run = ArchiveRun { rules, pace: ArchivePace::Full { threads: 1 }, release: Release::IfProven };
    let outcome = archiver.run(&run).unwrap();
    assert!(!outcome.archived.is_empty() && outcome.released.is_some(), "{outcome:?}");
}

fn read_archives(folder: &Path, shown: &str, files: &mut Files, archives: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{shown}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            read_archives(&path, &name, files, archives);
        } else if name.ends_with(".bca") {
            files.set(&name, fs::read(path).unwrap());
            archives.push(name);
        }
    }
}

/// The ledger with its archives beside it.
pub(crate) fn whole() -> Files {
    ARCHIVED.files.clone()
}

fn incomplete() -> ExpectedFinding {
    ExpectedFinding { verdict: Verdict::Incomplete, file: None, kind: Some("gap") }
}

pub(crate) fn cases() -> Vec<Case> {
    let archived = &*ARCHIVED;
    let (first, second) = (&archived.archives[0], &archived.archives[1]);
    let case = |name: &str, expected: ExpectedFinding, change: &dyn Fn(&mut Files)| {
        Case::new(format!("archived: {name}"), archived.changed(|files| change(files)), expected)
    };
    let found_in = |file: &str| ExpectedFinding::found_in(file);
    let left = u32::try_from(archived.released.len()).unwrap();
    let in_first = || found_in(archived.shown(0));
    vec![
        case("whole", ExpectedFinding::alone(), &|_| {}),
        case("no archive is there", incomplete(), &|files| {
            archived.archives.iter().for_each(|name| files.remove(name));
        }),
        case("one archive is missing", incomplete(), &|files| files.remove(first)),
        case("its manifest is missing too", incomplete(), &|files| {
            files.remove(first);
            files.remove(&archived.manifests[0]);
        }),
        case("the second manifest is missing", incomplete(), &|files| files.remove(&archived.manifests[1])),
        case("an archive in another's place", in_first(), &|files| {
            let other = files.bytes(second).to_vec();
            files.set(first, other);
        }),
        case("an empty archive", in_first(), &|files| files.set(first, Vec::new())),
        case("zeros in an archive's place", in_first(), &|files| {
            let bytes = files.bytes(first).len();
            files.set(first, vec![0; bytes]);
        }),
        case("a byte behind an archive", in_first(), &|files| files.change(first, |bytes| bytes.push(0))),
        case("a manifest in another's place", found_in(&archived.manifests[0]), &|files| {
            let other = files.bytes(&archived.manifests[1]).to_vec();
            files.set(&archived.manifests[0], other);
        }),
        case("a manifest with another line", found_in(&archived.manifests[0]), &|files| {
            files.change(&archived.manifests[0], |bytes| {
                let text = String::from_utf8(bytes.clone()).unwrap().replacen("reactor ", "reactor 1", 1);
                *bytes = text.into_bytes();
            });
        }),
        case("what is left of the first segment is missing", found_in(&segment(1)), &|files| {
            files.remove(&archived.released[0]);
        }),
        case("what is left of the last segment let go is missing", found_in(&segment(left)), &|files| {
            files.remove(archived.released.last().unwrap());
        }),
        case("what is left of a segment between is missing", found_in(&segment(2)), &|files| {
            files.remove(&archived.released[1]);
        }),
        case("what is left of two segments is exchanged", found_in(&archived.released[0]), &|files| {
            let [one, other] = [0, 1].map(|number| files.bytes(&archived.released[number]).to_vec());
            files.set(&archived.released[0], other);
            files.set(&archived.released[1], one);
        }),
        case(
            "a segment's file came back, with released ones behind it",
            ExpectedFinding::alone(),
            &|files| {
                files.set(&segment(1), b"whatever a crash has left of it".to_vec());
            },
        ),
        case("without the note of signing keys", incomplete(), &|files| files.remove(NOTE)),
    ]
}

/// `true`: it is the file that is left of a released segment, and not its copy.
fn is_released(name: &str) -> bool {
    name.starts_with("segments/") && name.ends_with(".released")
}

/// Returns the first verifier's report on these files, with keys.
fn opened(files: &Files, keyring: &Keyring) -> Report {
    let folder = TempDir::new().unwrap();
    let ledger = folder.path().join("ledgers/main");
    files.write(&ledger);
    let archives = folder.path().join("archives");
    let options = VerifyOptions {
        keyring: Some(keyring),
        name: Some("main"),
        patience: TailRetries::NONE,
        archives: Some(&archives),
        ..Default::default()
    };
    verify_ledger(&ledger, &options)
}

#[test]
fn with_keys_archives_are_opened_and_streams_go_on_behind_them() {
    let archived = &*ARCHIVED;
    let report = opened(&archived.files, &archived.keyring);
    assert_eq!(report.verdict(), Verdict::Alone, "{report:?}");
    let checked = report.archives.unwrap();
    assert_eq!((checked.archives, checked.opened), (2, checked.events));
    assert!(report.released_segments >= 3 && checked.last > checked.released_through, "{checked:?}");
    assert!(report.assurance.whole_tree);

    let without = archived.changed(|files| files.remove(&archived.archives[0]));
    let report = opened(&without, &archived.keyring);
    assert_eq!(report.verdict(), Verdict::Incomplete, "{report:?}");
    assert!(matches!(report.gaps.as_slice(), [Gap::Archive { first: 1, .. }]), "{:?}", report.gaps);
    assert!(!report.assurance.whole_tree);
}

#[test]
fn a_head_of_what_was_let_go_is_compared_where_the_tree_is_known() {
    let archived = &*ARCHIVED;
    let folder = TempDir::new().unwrap();
    let ledger = folder.path().join("ledgers/main");
    archived.files.write(&ledger);
    let archives = folder.path().join("archives");
    let report = |known: &[KnownHead]| {
        let options = VerifyOptions {
            known_heads: known,
            patience: TailRetries::NONE,
            archives: Some(&archives),
            ..Default::default()
        };
        verify_ledger(&ledger, &options)
    };
    let manifest = archived.files.bytes(&archived.manifests[0]);
    let signed = UnverifiedManifest::parse(manifest).unwrap().verify_alone().unwrap();
    let origin = signed.manifest().origin.clone();
    let known = |size, root| {
        let note = TreeHead { origin: origin.clone(), size, root }.sign(&archived.keyring);
        KnownHead { file: "kept".to_owned(), head: UnverifiedTreeHead::parse(&note).unwrap() }
    };
    let (last, root) = (signed.manifest().range.last().get(), signed.manifest().root_after);
    let through = report(&[]).archives.unwrap().released_through;
    assert!(last <= through, "the first archive's end was let go");
    assert_eq!(report(&[known(last, root)]).assurance.heads, [("kept".to_owned(), last)]);
    assert_eq!(report(&[known(last, TreeHash([7; 32]))]).verdict(), Verdict::Diverged);
    let within = report(&[known(last - 1, root)]);
    assert!(matches!(within.gaps.as_slice(), [Gap::KnownHead { .. }]), "{within:?}");
}

#[test]
fn a_head_that_was_kept_stays_checkable_offline_once_its_events_are_archived() {
    let archived = &*ARCHIVED;
    let folder = TempDir::new().unwrap();
    let ledger = folder.path().join("ledgers/main");
    archived.files.write(&ledger);
    let archives = folder.path().join("archives");
    let report = |keyring: Option<&Keyring>, known: &KnownHead| {
        let options = VerifyOptions {
            known_heads: std::slice::from_ref(known),
            keyring,
            name: Some("main"),
            patience: TailRetries::NONE,
            archives: Some(&archives),
            ..Default::default()
        };
        verify_ledger(&ledger, &options)
    };
    let keys = Some(&*archived.keyring);
    let mut kept = 0;
    for name in archived.files.0.keys().filter(|name| name.ends_with(".heads")) {
        let bytes = archived.files.bytes(name);
        let mut walk = HeadsWalk::new(bytes);
        while let HeadStep::Entry(entry) = walk.step() {
            let head = UnverifiedTreeHead::parse(&entry.note).unwrap();
            let size = head.size();
            let known = KnownHead { file: "kept".to_owned(), head };
            assert_eq!(
                report(keys, &known).assurance.heads,
                [("kept".to_owned(), size)],
                "{name}, size {size}"
            );
            let other = TreeHead { origin: known.head.origin().clone(), size, root: TreeHash([7; 32]) };
            let other = UnverifiedTreeHead::parse(&other.sign(&archived.keyring)).unwrap();
            let other = report(keys, &KnownHead { head: other, ..known.clone() });
            assert_eq!(other.verdict(), Verdict::Diverged, "{name}, size {size}: {other:?}");
            kept += u32::from(!report(None, &known).gaps.is_empty());
        }
    }
    assert!(kept > 0, "without keys some heads lie within an archive");
}

/// Bytes before the first entry of a file of heads, and before the entry's blind.
const HEADS_HEADER: usize = 32;
const BEFORE_BLIND: usize = 12;

#[test]
fn heads_beside_what_was_let_go_are_compared_with_archived_events() {
    let archived = &*ARCHIVED;
    let name = archived.files.0.keys().find(|name| name.ends_with(".heads")).unwrap();
    let number = name.trim_start_matches("tree/").trim_end_matches(".heads");
    assert!(archived.released.contains(&format!("segments/{number}.released")), "{name}");
    let bytes = archived.files.bytes(name);
    let length = u32::from_le_bytes(bytes[HEADS_HEADER..HEADS_HEADER + 4].try_into().unwrap()) as usize;
    let crc_at = HEADS_HEADER + length;
    let record = u32::from_le_bytes(bytes[HEADS_HEADER + 44..HEADS_HEADER + 48].try_into().unwrap()) as usize;
    // Position, blind and record, each byte of which a thief changes, and makes the checksum right again.
    for at in (4..BEFORE_BLIND + 32 + 4 + record).step_by(13) {
        let changed = archived.changed(|files| {
            let mut bytes = bytes.to_vec();
            bytes[HEADS_HEADER + at] ^= 1;
            let crc = crc32fast::hash(&bytes[HEADS_HEADER..crc_at]);
            bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
            files.set(name, bytes);
        });
        let report = opened(&changed, &archived.keyring);
        assert_eq!(report.verdict(), Verdict::Invalid, "byte {at} of the entry: {report:?}");
        assert_eq!(&report.fault.unwrap().file, name, "byte {at}");
    }
}

#[test]
fn what_is_left_is_not_changed_unseen_by_whoever_makes_its_checksum_right() {
    let Some(mut judge) = Judge::new() else { return };
    let archived = &*ARCHIVED;
    let name = &archived.released[0];
    let bytes = archived.files.bytes(name);
    let crc_at = bytes.len() - 4;
    let summed = |mut bytes: Vec<u8>| {
        let crc = crc32fast::hash(&bytes[..crc_at]);
        bytes[crc_at..].copy_from_slice(&crc.to_le_bytes());
        bytes
    };
    let expected = ExpectedFinding { verdict: Verdict::Invalid, file: None, kind: None };
    let thefts = flips(bytes).take(crc_at).step_by(7);
    let thefts = thefts.map(|(what, bytes, _)| (what, summed(bytes), u64::MAX, &expected));
    judge.changes(&archived.files, name, thefts);
    let copy = name.replace("segments/", "tree/");
    let of_copy = ExpectedFinding::found_in(&copy);
    let changes = flips(archived.files.bytes(&copy)).step_by(97);
    judge.changes(&archived.files, &copy, changes.map(|(what, bytes, _)| (what, bytes, 0, &of_copy)));
    judge.end(100);
}

#[test]
fn what_is_left_without_signature_is_incomplete_to_both() {
    let Some(mut judge) = Judge::new() else { return };
    let archived = &*ARCHIVED;
    let name = &archived.released[0];
    let signed = ReleasedSegment::parse(archived.files.bytes(name)).unwrap();
    let first_time = Micros(signed.first_time.0.saturating_sub(5));
    let unsigned = ReleasedSegment { signed: None, ..signed };
    let bare = ReleasedSegment { footer: None, first_time, ..unsigned.clone() };
    let mut moved = ReleasedSegment { first_time, ..unsigned.clone() };
    moved.footer.as_mut().unwrap().first_time = first_time;
    let judged = |released: &ReleasedSegment, what: &str, expected: &ExpectedFinding, judge: &mut Judge| {
        let changed = archived.changed(|files| files.remove(&name.replace("segments/", "tree/")));
        judge.changes(&changed, name, [(what.to_owned(), released.encode(), u64::MAX, expected)].into_iter());
    };
    let incomplete = ExpectedFinding { verdict: Verdict::Incomplete, file: None, kind: None };
    judged(&unsigned, "format 1 with a footer", &incomplete, &mut judge);
    judged(&moved, "format 1 with a footer of other times", &incomplete, &mut judge);
    judged(&bare, "format 1 without a footer", &incomplete, &mut judge);
    judge.end(3);
}

#[test]
fn every_flipped_byte_of_what_is_left_and_of_a_manifest_is_found_by_both() {
    let Some(mut judge) = Judge::new() else { return };
    let archived = &*ARCHIVED;
    for name in [&archived.released[0], archived.released.last().unwrap()] {
        let bytes = archived.files.bytes(name);
        let expected = ExpectedFinding { verdict: Verdict::Invalid, file: None, kind: None };
        let changes = flips(bytes).map(|(what, bytes, _)| (what, bytes, u64::MAX, &expected));
        judge.changes(&archived.files, name, changes);
    }
    for name in &archived.manifests {
        let expected = ExpectedFinding::found_in(name);
        let changes = flips(archived.files.bytes(name)).map(|(what, bytes, at)| (what, bytes, at, &expected));
        judge.changes(&archived.files, name, changes);
    }
    judge.end(3_000);
}

#[test]
fn an_archive_by_itself_is_judged_alike() {
    let Some(mut second) = SecondVerifier::start(&["--archive"]) else { return };
    let archived = &*ARCHIVED;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("one.bca");
    for name in &archived.archives {
        let bytes = archived.files.bytes(name);
        fs::write(&path, bytes).unwrap();
        assert!(CheckedArchive::check(&path, None, None).is_ok());
        assert_eq!(second.judge(&path)["verdict"], "alone");
        for (what, changed, _) in flips(bytes).step_by(97) {
            fs::write(&path, changed).unwrap();
            assert!(CheckedArchive::check(&path, None, None).is_err(), "{what}");
            assert_eq!(second.judge(&path)["verdict"], "invalid", "{what}");
        }
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(CheckedArchive::check(&path, None, None), Err(ArchiveProblem::Unreadable(_))));
    assert_eq!(second.judge(&path)["verdict"], "incomplete");
}

#[test]
fn flipped_bytes_of_archives_and_cut_ones_are_found_by_both() {
    const STEP: usize = 41;
    let Some(mut judge) = Judge::new() else { return };
    let archived = &*ARCHIVED;
    for (number, name) in archived.archives.iter().enumerate() {
        let bytes = archived.files.bytes(name);
        let expected = ExpectedFinding {
            verdict: Verdict::Invalid,
            file: Some(archived.shown(number).to_owned()),
            kind: None,
        };
        let is_end = |at: u64| at + 4_000 > bytes.len() as u64 && at.is_multiple_of(5);
        let flipped = flips(bytes).filter(|(_, _, at)| at % STEP as u64 == 0 || *at < 40 || is_end(*at));
        judge.changes(
            &archived.files,
            name,
            flipped.map(|(what, bytes, _)| (what, bytes, u64::MAX, &expected)),
        );
        let cut = (0..bytes.len()).step_by(STEP * 7);
        let cut =
            cut.map(|length| (format!("cut at {length}"), bytes[..length].to_vec(), u64::MAX, &expected));
        judge.changes(&archived.files, name, cut);
    }
    judge.end(500);
}
