//! The scrub's rounds: they find damage that nobody reads, keep to their pace, and end with the ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "damage is done to the files themselves"
)]

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Event, Keyring};
use bitacora_ledger::{
    AppendError, AppendRequest, Entropy, Environment, Ledger, Options, ReadOnlyReason, ScrubOptions,
    SystemEntropy,
};

/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// A round right after the other, as fast as the disk gives the bytes.
const RESTLESS: ScrubOptions = ScrubOptions { bytes_per_s: u64::MAX, pause: Duration::from_millis(1) };

fn keyring() -> Arc<Keyring> {
    Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()))
}

fn event(id: u64) -> Event<'static> {
    Event::new(format!("e{id}"), "urn:test", "x.noted", "s".to_owned())
}

fn open(path: &Path, keyring: &Arc<Keyring>, scrub: ScrubOptions) -> Ledger {
    let options = Options { scrub: Some(scrub), ..Options::small() };
    Ledger::open(&Environment::real(), path, Arc::clone(keyring), options).unwrap()
}

/// A ledger with an ended segment of several frames, and its keyring.
fn written(path: &Path) -> Arc<Keyring> {
    let (environment, keyring) = (Environment::real(), keyring());
    Ledger::create(&environment, path, &"main".parse().unwrap(), &keyring, &Options::small()).unwrap();
    for round in 0..3 {
        let ledger = Ledger::open(&environment, path, Arc::clone(&keyring), Options::small()).unwrap();
        for id in 0..4 {
            ledger.append(AppendRequest::of(vec![event(round * 10 + id)])).unwrap().wait().unwrap();
        }
        ledger.close().unwrap();
    }
    keyring
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The offsets of a segment's frames.
fn frames(stored: &[u8]) -> impl Iterator<Item = usize> {
    (0..stored.len()).filter(|at| stored.get(*at..).is_some_and(|rest| rest.starts_with(b"BITF")))
}

/// Changes a byte in the body of the segment's second frame, and writes nothing else of the file.
fn damage_second_frame(segment: &Path) {
    let stored = std::fs::read(segment).unwrap();
    let at = frames(&stored).nth(1).unwrap() + 150;
    let file = std::fs::OpenOptions::new().write(true).open(segment).unwrap();
    file.write_all_at(&[stored.get(at).unwrap() ^ 1], at as u64).unwrap();
}

#[test]
fn rounds_go_on_and_find_damage_that_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let keyring = written(&path);
    let ledger = open(&path, &keyring, RESTLESS);
    wait_until("two rounds", || ledger.status().scrub.rounds >= 2);
    let status = ledger.status();
    assert!(status.is_proven && status.scrub.completed.is_some(), "{status:?}");
    assert!(status.scrub.age.is_some_and(|age| age < PATIENCE), "{status:?}");
    assert!(ledger.doubt().is_none());

    let name = "segments/0000000002.seg";
    damage_second_frame(&path.join(name));
    wait_until("the damage is found", || ledger.doubt().is_some());
    assert!(ledger.doubt().unwrap().contains(name), "{:?}", ledger.doubt());
    let refused = ledger.append(AppendRequest::of(vec![event(99)]));
    assert!(matches!(refused, Err(AppendError::ReadOnly(ReadOnlyReason::Corrupt(_)))));
    // No round is counted that found it.
    let rounds = ledger.status().scrub.rounds;
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(ledger.status().scrub.rounds, rounds);
}

#[test]
fn a_later_round_reads_what_was_appended_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let keyring = written(&path);
    let ledger = open(&path, &keyring, RESTLESS);
    wait_until("a round", || ledger.status().scrub.rounds >= 1);
    for id in 77..79 {
        ledger.append(AppendRequest::of(vec![event(id)])).unwrap().wait().unwrap();
    }
    // The segment behind it is prepared and empty.
    let has_frames = |path: &PathBuf| frames(&std::fs::read(path).unwrap()).count() > 1;
    let segments = std::fs::read_dir(path.join("segments")).unwrap().map(|file| file.unwrap().path());
    let newest = segments.filter(has_frames).max().unwrap();
    damage_second_frame(&newest);
    wait_until("the damage is found", || ledger.doubt().is_some());
    let name = newest.file_name().unwrap().to_str().unwrap();
    assert!(ledger.doubt().unwrap().contains(name), "{:?}", ledger.doubt());
}

#[test]
fn a_round_keeps_to_its_pace_and_ends_with_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let keyring = written(&path);
    let pace = ScrubOptions { bytes_per_s: 2_000, pause: Duration::ZERO };
    let ledger = open(&path, &keyring, pace);
    let began = Instant::now();
    wait_until("a few frames", || ledger.status().scrub.bytes > 1_500);
    assert!(began.elapsed() > Duration::from_millis(250), "{:?}", began.elapsed());
    let read = ledger.status().scrub.bytes;
    assert!(read < 10_000, "{read}");
    let closing = Instant::now();
    ledger.close().unwrap();
    assert!(closing.elapsed() < PATIENCE / 4, "{:?}", closing.elapsed());
}

#[test]
fn without_its_option_there_is_no_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main");
    let keyring = written(&path);
    let ledger = Ledger::open(&Environment::real(), &path, keyring, Options::small()).unwrap();
    wait_until("proven", || ledger.status().is_proven);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(ledger.status().scrub, bitacora_ledger::ScrubStatus::default());
}
