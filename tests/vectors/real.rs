//! Ledgers as the real one makes them, whole ones.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{Data, Event, FOOTER_BYTES, Json, Keyring};
use bitacora_ledger::{AppendRequest, Entropy, Environment, Ledger, OpenError, Options, SystemEntropy};
use tempfile::TempDir;

use crate::case::{Case, CaseEntry, ExpectedFinding, Files, leaves, segment};

/// A ledger that is opened, added to and closed, a segment each time.
struct Maker {
    folder: TempDir,
    keyring: Keyring,
    events: usize,
}

impl Maker {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let keyring = Keyring::generate(&mut random);
        let (path, name) = (folder.path().join("main"), "main".parse().unwrap());
        Ledger::create(&Environment::real(), &path, &name, &keyring, &options()).unwrap();
        Self { folder, keyring, events: 0 }
    }

    /// One opening with requests of so many events each, which are a frame each.
    fn segment(&mut self, requests: &[usize]) {
        let keyring = Arc::new(Keyring::parse(&self.keyring.to_text()).unwrap());
        let path = self.folder.path().join("main");
        let ledger = open(&path, &keyring);
        for count in requests {
            let events = (0..*count).map(|_| self.event()).collect();
            ledger.append(AppendRequest::of(events)).unwrap().wait().unwrap();
        }
        ledger.close().unwrap();
    }

    fn event(&mut self) -> Event<'static> {
        self.events += 1;
        let mut event = Event::new(self.events.to_string(), "urn:test", "x.noted", "s");
        event.data = Data::Json(Json::check(br#"{"text":"some words"}"#.to_vec()).unwrap());
        if self.events.is_multiple_of(2) {
            event.datasubject = Some("person/9".into());
        }
        event
    }

    fn files(&self) -> Files {
        Files::read(&self.folder.path().join("main"))
    }
}

/// Without tree heads, so that a ledger has the events that it is given and those of its openings.
fn options() -> Options {
    Options { heads: None, ..Options::small() }
}

fn random(bytes: &mut [u8]) {
    SystemEntropy.fill(bytes).unwrap();
}

/// A ledger of four segments, the first of which holds the creation alone.
pub(crate) fn several_segments() -> Files {
    let mut maker = Maker::new();
    for _ in 0..3 {
        maker.segment(&[2, 1]);
    }
    maker.files()
}

/// One that is signed with three keys, one after the other.
pub(crate) fn rotated_keys() -> Files {
    let mut maker = Maker::new();
    maker.segment(&[1]);
    maker.keyring.rotate_signing(&mut random).unwrap();
    maker.segment(&[2]);
    maker.keyring.rotate_encryption(&mut random).unwrap();
    maker.keyring.rotate_signing(&mut random).unwrap();
    maker.segment(&[1]);
    maker.files()
}

/// One with two complete groups of 256 leaves, one of which begins and ends within a segment.
pub(crate) fn two_groups() -> Files {
    let mut maker = Maker::new();
    maker.segment(&[100, 100]);
    maker.segment(&[100, 100, 100]);
    maker.segment(&[50]);
    maker.files()
}

/// As a killed service leaves the last segment: no footer, and zeros behind the last frame.
pub(crate) fn unended(mut files: Files) -> Files {
    let last = segment(files.last());
    files.change(&last, |bytes| {
        bytes.truncate(bytes.len() - FOOTER_BYTES);
        bytes.resize(bytes.len() + 4096, 0);
    });
    files
}

/// Ledgers that are what they must be, each as far as the folder alone can tell.
pub(crate) fn good() -> Vec<Case> {
    let alone = |name: &str, files: Files| Case::new(name, files, ExpectedFinding::alone());
    let several = several_segments();
    let with = |name: &str, change: &dyn Fn(&mut Files)| {
        let mut files = several.clone();
        change(&mut files);
        alone(name, files)
    };
    // A crash explains what is missing there: no opening came after it.
    let newest = leaves(several.last());
    let behind = segment(several.last() + 1);
    vec![
        alone("one-segment", Maker::new().files()),
        alone("rotated-keys", rotated_keys()),
        alone("two-groups", two_groups()),
        alone("last-segment-unended", unended(several.clone())),
        with("several-segments", &|_| {}),
        with("segment-made-ahead", &|files| files.put(&behind, CaseEntry::Zeros(65_536))),
        with("segment-made-ahead-empty", &|files| files.put(&behind, CaseEntry::Zeros(0))),
        with("subject-erased", &|files| files.0.retain(|name, _| !name.starts_with("subjects/"))),
        with("leaves-missing", &|files| files.remove(&leaves(2))),
        with("leaves-empty", &|files| files.set(&newest, Vec::new())),
        with("leaves-cut", &|files| files.change(&newest, |bytes| bytes.truncate(95))),
        with("leaves-cut-in-the-header", &|files| files.change(&newest, |bytes| bytes.truncate(39))),
        with("leaves-lost-with-the-power", &|files| files.change(&newest, |bytes| bytes[40..].fill(0))),
        with("leaves-lost-from-the-last-frame", &|files| {
            files.change(&newest, |bytes| bytes.iter_mut().rev().take(40).for_each(|byte| *byte = 0));
        }),
        with("tree-missing", &|files| files.0.retain(|name, _| !name.starts_with("tree/"))),
        with("level-missing", &|files| files.0.retain(|name, _| name != crate::case::LEVEL)),
        with("other-files", &|files| {
            files.set("segments/0000000002.seg.bak", vec![1; 10]);
            files.set("tree/0000000009.leaves", vec![1; 10]);
            files.set("other", vec![1; 10]);
        }),
    ]
}

/// Opens the ledger. A program that another test starts has this one's descriptors, and with them its lock, until it runs.
fn open(path: &Path, keyring: &Arc<Keyring>) -> Ledger {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        match Ledger::open(&Environment::real(), path, Arc::clone(keyring), options()) {
            Err(OpenError::Locked(_)) if Instant::now() < patience => std::thread::yield_now(),
            opened => return opened.unwrap(),
        }
    }
}
