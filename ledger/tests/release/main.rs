//! Tests of released segments: read, proven, opened and refused as before, with frames elsewhere.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must fail")]
#![expect(clippy::disallowed_methods, reason = "what is in the folder is changed behind the ledger's back")]

mod damaged;
mod refusing_anchor;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bitacora_formats::{
    After, BodyWriter, Data, Event, Keyring, LedgerId, Micros, Position, SegmentHeader, TreeHash,
};
use bitacora_ledger::{
    Anchor, AppendRequest, ArchiveAccess, ArchiveSource, ArchiveTier, ArchiveTierError, ArchiveTierErrorKind,
    ArchivedFrame, Entropy, Environment, Filter, HeadOptions, Ledger, OpenError, Options, ReadError,
    ReadFrom, ReadQuery, ReceiptStatus, ReleaseError, Restoration, RestoreError, SegmentStart, StoredEvent,
    SystemEntropy, WriterState,
};

use crate::refusing_anchor::RefusingAnchor;

/// The reason for releases in these tests.
const WHY: &str = "it is tried";

/// Frames by the position of their first event.
#[derive(Debug, Default, Clone)]
struct FrameArchives(Arc<Mutex<BTreeMap<Position, ArchivedFrame>>>);

impl ArchiveSource for FrameArchives {
    fn of_ledger(&self, _: &Path, _: LedgerId, _: &Arc<Keyring>, _: ArchiveAccess) -> Arc<dyn ArchiveTier> {
        Arc::new(self.clone())
    }
}

impl ArchiveTier for FrameArchives {
    fn frame(&self, position: Position) -> Result<ArchivedFrame, ArchiveTierError> {
        let archives = self.0.lock().unwrap();
        let found = archives.range(..=position).next_back().map(|(_, frame)| frame.clone());
        found.ok_or(ArchiveTierError {
            first: position,
            last: position,
            kind: ArchiveTierErrorKind::Unavailable,
            what: "the archives are empty".to_owned(),
        })
    }
}

impl FrameArchives {
    /// Puts every frame of the ledger there.
    fn fill(&self, ledger: &Ledger) {
        let mut archives = self.0.lock().unwrap();
        let show = &mut |frame: &bitacora_ledger::PlainFrame<'_>| {
            let (mut body, mut count) = (BodyWriter::new(), 0);
            for request in &frame.body.requests {
                body.begin_request(request.submitted).unwrap();
                for entry in &request.entries {
                    body.entry(entry.stream_version, entry.record, entry.part).unwrap();
                    count += 1;
                }
                body.end_request().unwrap();
            }
            let body = Arc::new(body.finish().unwrap());
            let (first_position, time) = (frame.first_position, frame.time);
            archives.insert(first_position, ArchivedFrame { first_position, count, time, body });
            ControlFlow::Continue(())
        };
        ledger.frames(Position::FIRST, ledger.head().position, show).unwrap();
    }
}

struct ReleaseFixture {
    _folder: tempfile::TempDir,
    path: PathBuf,
    keyring: Arc<Keyring>,
    environment: Environment,
    archives: FrameArchives,
}

impl ReleaseFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main");
        let keyring = Arc::new(Keyring::generate(&mut |bytes| SystemEntropy.fill(bytes).unwrap()));
        let archives = FrameArchives::default();
        let environment = Environment { archives: Arc::new(archives.clone()), ..Environment::real() };
        let name = &"main".parse().unwrap();
        Ledger::create(&environment, &path, name, &keyring, &Options::small()).unwrap();
        Self { _folder: folder, path, keyring, environment, archives }
    }

    /// One whose ledger is closed, and whose first segments are released.
    fn released() -> Self {
        let scene = Self::new();
        let ledger = scene.open();
        fill(&ledger, 0, 200);
        scene.archives.fill(&ledger);
        ledger.release(at(300), WHY).unwrap().unwrap();
        ledger.close().unwrap();
        scene
    }

    fn open(&self) -> Ledger {
        self.try_open().unwrap()
    }

    fn read(&self) -> Ledger {
        Ledger::open_for_reading(&self.environment, &self.path, Arc::clone(&self.keyring), None).unwrap()
    }

    fn try_open(&self) -> Result<Ledger, OpenError> {
        let name = Some("main".parse().unwrap());
        let options = Options { name, ..Options::small() };
        let ledger = Ledger::open(&self.environment, &self.path, Arc::clone(&self.keyring), options)?;
        while !ledger.status().is_proven && is_ready(&ledger) {
            std::thread::yield_now();
        }
        Ok(ledger)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path.join(folder)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

fn event(number: u64) -> Event<'static> {
    let mut event = Event::new(format!("e{number}"), "urn:test", "x.kind", format!("s{}", number % 3));
    event.agent = Some(format!("agent-{}", number % 5).into());
    event
}

/// Segments of 4 requests of up to 3 events, the last one open.
fn fill(ledger: &Ledger, first: u64, requests: u64) {
    let mut number = first;
    for request in 0..requests {
        let events = (0..=request % 3).map(|_| {
            number += 1;
            event(number)
        });
        ledger.append(AppendRequest::of(events.collect())).unwrap().wait().unwrap();
        if request % 4 == 3 {
            ledger.end_segment();
        }
    }
}

fn all(ledger: &Ledger) -> Vec<StoredEvent<'static>> {
    let mut query = forward();
    let mut events = Vec::new();
    loop {
        let page = ledger.read(&query).unwrap();
        events.extend(page.events);
        match page.next {
            Some(next) => query.from = next,
            None => return events,
        }
    }
}

fn forward() -> ReadQuery {
    ReadQuery { from: ReadFrom::After(After::START), until: None, limit: 1_000, filter: Filter::default() }
}

fn is_ready(ledger: &Ledger) -> bool {
    matches!(ledger.status().writer, WriterState::Ready)
}

fn at(position: u64) -> Position {
    Position::new(position).unwrap()
}

#[test]
fn released_segments_are_read_as_if_they_were_here() {
    let scene = ReleaseFixture::new();
    let ledger = scene.open();
    fill(&ledger, 0, 200);
    scene.archives.fill(&ledger);
    let before = all(&ledger);
    let (size, middle) = (ledger.head().position.get(), at(300));
    let roots = ledger.group_roots(0, size / 256).unwrap();
    let root = ledger.prove_inclusion(at(7), size).unwrap();

    let released = ledger.release(middle, WHY).unwrap().unwrap();
    assert!(released.last <= middle && released.first == Position::FIRST && released.segments > 10);
    assert_eq!(ledger.released_through(), Some(released.last));
    assert_eq!(ledger.release(middle, WHY).unwrap(), None, "released twice");
    let numbers = 1..=released.segments;
    let expected: Vec<_> = numbers.map(|number| format!("{number:010}.released")).collect();
    assert_eq!(scene.names("segments")[..expected.len()], expected);
    assert!(scene.names("segments").iter().skip(expected.len()).all(|name| name.ends_with(".seg")));

    let after = all(&ledger);
    assert_eq!(after[..before.len()], before);
    assert!(before.iter().all(|stored| ledger.event(stored.position).unwrap() == *stored));
    assert_eq!(ledger.group_roots(0, size / 256).unwrap(), roots);
    assert_eq!(ledger.prove_inclusion(at(7), size).unwrap(), root);
    for time in [Micros(0), before[20].time, before[300].time, Micros(before[400].time.0 + 1)] {
        let expected = after.iter().find(|event| event.time >= time).map(|event| event.position);
        assert_eq!(ledger.first_at(time).unwrap(), expected);
    }
    let query = ReadQuery { from: ReadFrom::Before(Some(at(100))), limit: 50, ..forward() };
    let page = ledger.read(&query).unwrap();
    assert_eq!(page.events.first().unwrap(), &before[98]);

    // An event that was accepted once stays accepted, released or not, and its answer is the first one.
    let again = ledger.append(AppendRequest::of(vec![event(5)])).unwrap().wait().unwrap();
    assert_eq!(again.results[0].status, ReceiptStatus::Duplicate);
    let original = before.iter().find(|stored| stored.event.id == "e5").unwrap();
    let again = &again.results[0];
    assert_eq!((again.position, again.commitment), (original.position, original.commitment));
}

/// Returns the first and last positions of released segments, in the order of the log.
fn said(ledger: &Ledger) -> Vec<(u64, u64)> {
    let number = |data: &serde_json::Value, member: &str| data[member].as_str().unwrap().parse().unwrap();
    let said = all(ledger).into_iter().filter(|stored| stored.event.kind == "retention.applied");
    said.map(|stored| {
        let Data::Json(data) = &stored.event.data else { panic!("no data: {stored:?}") };
        let data = serde_json::from_slice(data.as_bytes()).unwrap();
        (number(&data, "first"), number(&data, "last"))
    })
    .collect()
}

#[test]
fn of_each_segment_the_log_says_once_that_it_goes_and_without_that_none_does() {
    let scene = ReleaseFixture::new();
    let ledger = scene.open();
    fill(&ledger, 0, 200);
    scene.archives.fill(&ledger);
    let take_appends = |are_taken: bool| {
        ledger.set_read_only(!are_taken);
        while is_ready(&ledger) != are_taken {
            std::thread::yield_now();
        }
    };
    take_appends(false);
    let refused = ledger.release(at(300), WHY).unwrap_err();
    assert!(matches!(refused, ReleaseError::Unrecorded(_)), "{refused}");
    assert_eq!(ledger.released_through(), None);
    take_appends(true);

    for (through, before) in [(100, 0), (300, 1)] {
        let released = ledger.release(at(through), WHY).unwrap().unwrap();
        assert!(released.segments > before);
        let said = said(&ledger);
        let ends: Vec<_> = said.iter().map(|(_, last)| last + 1).collect();
        let begins: Vec<_> = said.iter().skip(1).map(|(first, _)| *first).collect();
        assert_eq!((said[0].0, ends.last()), (1, Some(&(released.last.get() + 1))), "{said:?}");
        assert_eq!(ends[..ends.len() - 1], begins, "each goes on from the one before: {said:?}");
    }
}

#[test]
fn a_segment_whose_header_the_ledger_did_not_certify_stays() {
    let scene = ReleaseFixture::new();
    let ledger = scene.open();
    fill(&ledger, 0, 200);
    scene.archives.fill(&ledger);
    let first = scene.path.join("segments/0000000001.seg");
    let whole = fs::read(&first).unwrap();
    let mut header = SegmentHeader::parse(&whole).unwrap();
    header.created.0 += 1;
    let mut changed = Vec::new();
    header.encode(&mut changed);
    changed.extend_from_slice(&whole[changed.len()..]);
    fs::write(&first, changed).unwrap();
    let refused = ledger.release(at(300), WHY).unwrap_err();
    assert!(matches!(&refused, ReleaseError::Disk { file, .. } if file.ends_with("1.seg")), "{refused}");
    assert_eq!(ledger.released_through(), None);
    fs::write(&first, whole).unwrap();
    assert!(ledger.release(at(300), WHY).unwrap().is_some());
}

#[test]
fn archives_that_give_other_events_than_were_asked_for_are_refused() {
    let scene = ReleaseFixture::released();
    let options = Options::small();
    let ledger = Ledger::open(&scene.environment, &scene.path, Arc::clone(&scene.keyring), options).unwrap();
    assert!(ledger.event(at(9)).is_ok());
    let mut archives = scene.archives.0.lock().unwrap();
    let other = archives.values().next_back().cloned().unwrap();
    archives.clear();
    archives.insert(at(1), other);
    drop(archives);
    let refused = ledger.event(at(9)).unwrap_err();
    assert!(
        matches!(&refused, ReadError::Archive(error) if error.kind == ArchiveTierErrorKind::Damaged),
        "{refused}"
    );
}

#[test]
fn a_ledger_with_released_segments_opens_again_with_its_tables_and_without() {
    let scene = ReleaseFixture::new();
    let ledger = scene.open();
    fill(&ledger, 0, 200);
    scene.archives.fill(&ledger);
    ledger.release(at(300), WHY).unwrap().unwrap();
    let before = all(&ledger);
    ledger.close().unwrap();
    drop(ledger);
    for gone in [&[][..], &["index"], &["tree"], &["index", "tree"]] {
        for folder in gone {
            fs::remove_dir_all(scene.path.join(folder)).unwrap();
        }
        let ledger = scene.open();
        let (now, earlier) = (all(&ledger), before.len());
        assert_eq!(now[..earlier], before, "without {gone:?}");
        let again = ledger.append(AppendRequest::of(vec![event(5)])).unwrap().wait().unwrap();
        assert_eq!(again.results[0].status, ReceiptStatus::Duplicate, "without {gone:?}");
        let fresh = ledger.append(AppendRequest::of(vec![event(100_000 + gone.len() as u64)]));
        fresh.unwrap().wait().unwrap();
        let size = ledger.head().position.get();
        let proof = ledger.prove_inclusion(at(7), size).unwrap();
        assert_eq!(proof.leaf.commitment, before[6].commitment, "without {gone:?}");
        fill(&ledger, 1_000_000 * (gone.len() as u64 + 1), 8);
        ledger.close().unwrap();
        let reading = Ledger::open_for_reading(
            &scene.environment,
            &scene.path,
            Arc::clone(&scene.keyring),
            Some(&"main".parse().unwrap()),
        );
        assert_eq!(all(&reading.unwrap())[..earlier], before, "without {gone:?}");
    }
}

#[test]
fn where_the_archives_do_not_answer_the_rest_is_served() {
    let scene = ReleaseFixture::new();
    let ledger = scene.open();
    fill(&ledger, 0, 200);
    scene.archives.fill(&ledger);
    let released = ledger.release(at(300), WHY).unwrap().unwrap();
    let before = all(&ledger);
    ledger.close().unwrap();
    drop(ledger);
    scene.archives.0.lock().unwrap().clear();

    // The name is asked of the log where no tree head says it, so it is not asked for here.
    let options = Options::small();
    let ledger = Ledger::open(&scene.environment, &scene.path, Arc::clone(&scene.keyring), options).unwrap();
    let error = ledger.event(at(3)).unwrap_err();
    assert!(matches!(&error, ReadError::Archive(error) if error.kind == ArchiveTierErrorKind::Unavailable));
    assert_eq!(error.code(), "archive-unavailable");
    let next = released.last.next().unwrap();
    assert_eq!(ledger.event(next).unwrap(), before[usize::try_from(next.get()).unwrap() - 1]);
    fill(&ledger, 5_000, 4);
    ledger.close().unwrap();
    drop(ledger);

    fs::remove_dir_all(scene.path.join("index")).unwrap();
    let refused = scene.try_open().err().unwrap();
    assert!(matches!(refused, OpenError::Archive(_)), "{refused}");
}

#[test]
fn a_ledger_is_made_again_of_its_frames_under_the_same_tree() {
    let scene = ReleaseFixture::new();
    let ledger = scene.open();
    fill(&ledger, 0, 200);
    scene.archives.fill(&ledger);
    let head = ledger.head();
    let starts = ledger.started_segments(Position::FIRST, head.position).unwrap();
    let before = all(&ledger);
    let id = ledger.id();
    ledger.close().unwrap();
    drop(ledger);
    let other = scene.path.with_file_name("other");
    let name: bitacora_formats::LedgerName = "main".parse().unwrap();
    let begin = || {
        let of = (&name, id);
        Restoration::begin(&scene.environment, &other, of, &scene.keyring, starts.clone())
    };
    let frames: Vec<_> = scene.archives.0.lock().unwrap().values().cloned().collect();

    let mut restoration = begin().unwrap();
    frames.iter().skip(1).for_each(|frame| assert!(restoration.frame(frame).is_err()));
    let mut restoration = begin().unwrap();
    frames.iter().for_each(|frame| restoration.frame(frame).unwrap());
    let refused = restoration.finish(head.position.get(), TreeHash([1; 32])).unwrap_err();
    assert!(matches!(refused, RestoreError::OtherTree { .. }), "{refused}");

    let mut restoration = begin().unwrap();
    frames.iter().for_each(|frame| restoration.frame(frame).unwrap());
    restoration.finish(head.position.get(), head.tree_root).unwrap();
    assert!(matches!(begin(), Err(RestoreError::Exists(_))));
    let options = Options::small();
    let restored = Ledger::open(&scene.environment, &other, Arc::clone(&scene.keyring), options).unwrap();
    assert_eq!(all(&restored)[..before.len()], before);
    assert_eq!(restored.id(), id);
    let again = restored.started_segments(Position::FIRST, head.position).unwrap();
    let places = |starts: &[SegmentStart]| {
        starts.iter().map(|start| (start.number, start.first_position, start.epoch)).collect::<Vec<_>>()
    };
    assert_eq!(places(&again), places(&starts));
    let proof = restored.prove_consistency(head.position.get(), restored.head().position.get()).unwrap();
    assert_eq!(proof.old_root, head.tree_root);
}

#[test]
fn archives_that_give_other_events_do_not_pass_for_the_log() {
    let scene = ReleaseFixture::released();
    fs::remove_dir_all(scene.path.join("index")).unwrap();
    let archives = scene.archives.0.lock().unwrap().clone();
    let (place, frame) = archives.iter().nth(3).map(|(place, frame)| (*place, frame.clone())).unwrap();
    let changed = ArchivedFrame { time: Micros(frame.time.0 + 1), ..frame };
    scene.archives.0.lock().unwrap().insert(place, changed);
    let refused = scene.try_open().err().unwrap();
    assert!(
        matches!(&refused, OpenError::Archive(error) if error.kind == ArchiveTierErrorKind::Damaged),
        "{refused}"
    );
}

#[test]
fn what_is_left_in_the_place_of_a_segment_is_checked() {
    let scene = ReleaseFixture::released();
    let segments = scene.path.join("segments");
    let file = segments.join("0000000004.released");
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(scene.path.join("tree/0000000004.released")).unwrap();

    // Two bits of its header: one alone is undone.
    let mut changed = bytes.clone();
    changed[100] ^= 1;
    changed[200] ^= 1;
    fs::write(&file, &changed).unwrap();
    let ledger = scene.open();
    assert!(!is_ready(&ledger));
    assert!(ledger.event(at(2)).is_ok());
    drop(ledger);

    // That of another segment.
    fs::copy(segments.join("0000000005.released"), &file).unwrap();
    assert!(!is_ready(&scene.open()));

    // None.
    fs::remove_file(&file).unwrap();
    assert!(!is_ready(&scene.open()));
    fs::write(&file, &bytes).unwrap();
    assert!(is_ready(&scene.open()));
}

#[test]
fn nothing_is_let_go_that_the_anchor_has_not_seen() {
    let scene = ReleaseFixture::new();
    let open = |anchor: Option<Arc<dyn Anchor>>| {
        let heads = HeadOptions { every: Duration::from_millis(1), anchor, ..HeadOptions::default() };
        let options = Options { heads: Some(heads), ..Options::small() };
        Ledger::open(&scene.environment, &scene.path, Arc::clone(&scene.keyring), options).unwrap()
    };
    let wait_for = |ledger: &Ledger| {
        let began = Instant::now();
        while !ledger.status().is_proven || ledger.status().heads.size + 8 < ledger.head().position.get() {
            assert!(began.elapsed() < Duration::from_secs(30), "{:?}", ledger.status().heads);
            std::thread::yield_now();
        }
    };
    let ledger = open(Some(Arc::new(RefusingAnchor)));
    fill(&ledger, 0, 40);
    scene.archives.fill(&ledger);
    assert_eq!(ledger.release(ledger.head().position, WHY).unwrap(), None);
    ledger.close().unwrap();
    drop(ledger);
    let ledger = open(None);
    wait_for(&ledger);
    let covered = ledger.status().heads.size;
    let released = ledger.release(ledger.head().position, WHY).unwrap().unwrap();
    assert!(released.segments > 3 && released.last.get() <= covered, "{released:?}, {covered} covered");
}
