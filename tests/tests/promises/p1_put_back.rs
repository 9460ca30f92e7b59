//! P1 on a disk that claims bytes it does not have: appends end, and memory brings the bytes back.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bitacora_formats::{ControlFile, ControlSeal, LedgerKeys, Position};
use bitacora_ledger::{AppendError, Environment, Ledger, OpenError, ReadOnlyReason, WriterState};

use crate::p7_no_rollback::{AnchorFixture, append};
use crate::workload::{all, event, keyring};

const PATIENCE: Duration = Duration::from_secs(20);
const PUT_BACK: &str = "ledger.frames-put-back";

impl AnchorFixture {
    /// Returns the fault of a ledger that takes no appends because frames are missing.
    fn fault(&self) -> String {
        let ledger = self.open().unwrap();
        let WriterState::ReadOnly(ReadOnlyReason::Corrupt(fault)) = ledger.status().writer else {
            panic!("{:?}", ledger.status().writer)
        };
        ledger.close().unwrap();
        fault.what
    }

    /// Names a file in quarantine as this ledger does.
    fn seal(&self, place: &str, bytes: &[u8]) -> String {
        let ledger = Ledger::open_for_reading(&Environment::real(), &self.ledger(), keyring(), None).unwrap();
        let keys = LedgerKeys::new(&keyring(), ledger.id());
        let sealed = format!("{place}\n{}", blake3::hash(bytes).to_hex());
        let seal = ControlSeal::of(ControlFile::UnwrittenFrames, keys.index_key(), sealed.as_bytes());
        format!("{place}.{}.unwritten", &seal.to_string()[..32])
    }

    fn put_back_frames(&self) -> Result<Ledger, OpenError> {
        Ledger::put_back(&Environment::real(), &self.ledger(), keyring(), self.options())
    }
}

fn segment(fixture: &AnchorFixture, number: u32) -> PathBuf {
    fixture.ledger().join(format!("segments/{number:010}.seg"))
}

/// The files of frames that the disk did not have, by their places.
fn unwritten(fixture: &AnchorFixture) -> Vec<PathBuf> {
    let files = fs::read_dir(fixture.ledger().join("quarantine")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "unwritten")).collect();
    files.sort();
    files
}

/// The bytes of a segment that were written and that the disk does not have.
#[derive(Debug, Clone, Copy)]
enum LostBytes {
    /// A bit of a frame that others follow.
    Bit,
    /// Everything from the frame with the fifth event on.
    Tail,
    /// All, the header too.
    All,
}

/// Takes bytes away, in place, as a disk does that never had them: the writer sees no other file. Where they began.
fn lose(fixture: &AnchorFixture, lost: LostBytes) -> u64 {
    let path = segment(fixture, 2);
    let bytes = fs::read(&path).unwrap();
    let frames: Vec<_> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"BITF")).collect();
    let from = match lost {
        LostBytes::Bit => frames[3] + 150,
        LostBytes::Tail => frames[5],
        LostBytes::All => 0,
    };
    match lost {
        LostBytes::Bit => write(fixture, from as u64, &[bytes[from] ^ 1]),
        LostBytes::Tail | LostBytes::All => write(fixture, from as u64, &vec![0; bytes.len() - from]),
    }
    from as u64
}

fn write(fixture: &AnchorFixture, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(segment(fixture, 2)).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

/// A ledger of ten acknowledged events that the disk lost some of, found by the one who signs; its head. Of a tail that is lost
/// nothing is left.
fn lost(fixture: &AnchorFixture, lost: LostBytes) -> Position {
    let ledger = fixture.open().unwrap();
    (0..10).for_each(|number| append(&ledger, number).unwrap());
    let from = lose(fixture, lost);
    if matches!(lost, LostBytes::Bit) {
        ledger.end_segment();
        let began = Instant::now();
        while !matches!(ledger.status().writer, WriterState::Poisoned(_)) {
            assert!(began.elapsed() < PATIENCE, "{lost:?}: {:?}", ledger.status().writer);
            std::thread::sleep(Duration::from_millis(2));
        }
        let refused = append(&ledger, 11).unwrap_err();
        assert!(matches!(refused, AppendError::Poisoned(_) | AppendError::Unknown), "{lost:?}: {refused}");
    }
    let ended = ledger.close().unwrap_err();
    assert!(ended.to_string().contains("recover --put-back"), "{lost:?}: {ended}");
    if !matches!(lost, LostBytes::Bit) {
        // Nor has it what was written behind that meanwhile.
        let length = fs::metadata(segment(fixture, 2)).unwrap().len();
        write(fixture, from, &vec![0; usize::try_from(length - from).unwrap()]);
    }
    ledger.head().position
}

fn check(ledger: &Ledger, head: Position, what: &str) {
    assert_eq!(ledger.status().writer, WriterState::Ready, "{what}");
    let stored = all(ledger).unwrap();
    let ours: Vec<_> = stored.iter().filter(|stored| stored.event.kind == event(0).kind).collect();
    let expected: Vec<_> = (0..10).map(event).collect();
    assert_eq!(ours.iter().map(|stored| stored.event.clone()).collect::<Vec<_>>(), expected, "{what}");
    assert!(ours.iter().all(|stored| stored.position <= head), "{what}");
    let told = stored.iter().filter(|stored| stored.event.kind == PUT_BACK);
    let told: Vec<_> = told.map(|stored| stored.position > head).collect();
    assert!(!told.is_empty() && told.iter().all(|is_behind| *is_behind), "{what}: {told:?}");
}

#[test]
fn acknowledged_events_that_the_disk_did_not_have_come_back_to_their_places() {
    for how in [LostBytes::Bit, LostBytes::Tail, LostBytes::All] {
        let (fixture, what) = (AnchorFixture::new(), format!("{how:?}"));
        let head = lost(&fixture, how);
        assert!(!unwritten(&fixture).is_empty(), "{what}");
        let damaged = fs::read(segment(&fixture, 2)).unwrap();
        // Nothing is cut, nothing takes their places and nothing is given up, however often it is opened.
        for _ in 0..2 {
            let fault = fixture.fault();
            assert!(fault.contains("recover --put-back"), "{what}: {fault}");
            let refused = fixture.declare_loss().map(|_| ()).unwrap_err();
            assert!(
                matches!(refused, OpenError::ToPutBack { last, .. } if last == head.get()),
                "{what}: {refused}"
            );
        }
        // A reader of it meanwhile is told that it has lost its end.
        let read =
            Ledger::open_for_reading(&Environment::real(), &fixture.ledger(), keyring(), None).unwrap();
        assert!(matches!(how, LostBytes::Bit) || read.lost_end().is_some(), "{what}");
        assert_eq!(fs::read(segment(&fixture, 2)).unwrap(), damaged, "{what}");

        let ledger = fixture.put_back_frames().unwrap_or_else(|error| panic!("{what}: {error}"));
        check(&ledger, head, &what);
        ledger.close().unwrap();
        drop(ledger);
        assert!(unwritten(&fixture).is_empty(), "{what}");
        let ledger = fixture.open().unwrap();
        check(&ledger, head, &what);
        ledger.close().unwrap();
        let nothing = fixture.put_back_frames().map(|_| ()).unwrap_err();
        assert!(matches!(nothing, OpenError::NothingToPutBack), "{what}: {nothing}");
    }
}

/// The tables of a ledger, which an opening drops that reads all of its log.
fn tables(fixture: &AnchorFixture) -> Vec<PathBuf> {
    let files = fs::read_dir(fixture.ledger().join("index")).unwrap();
    files.map(|entry| entry.unwrap().path()).collect()
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn what_is_no_continuation_of_the_log_is_not_put_back() {
    let fixture = AnchorFixture::new();
    let head = lost(&fixture, LostBytes::Tail);
    let [file] = &unwritten(&fixture)[..] else { panic!("one file") };
    let (name, genuine) = (name_of(file), fs::read(file).unwrap());
    let belongs = name.split(".g1.").next().unwrap().to_owned();
    // Frames of another ledger, cut ones, ones with a flipped bit, and none at all; sealed, as if the keys had leaked.
    let other = AnchorFixture::new();
    lost(&other, LostBytes::Tail);
    let foreign = fs::read(&unwritten(&other)[0]).unwrap();
    let flipped = |at: usize| {
        let mut bytes = genuine.clone();
        bytes[at] ^= 4;
        bytes
    };
    let forged =
        [foreign, genuine[..300].to_vec(), flipped(40), flipped(genuine.len() / 2), vec![7; 4_000], vec![]];
    fs::remove_file(file).unwrap();
    let before = fs::read(segment(&fixture, 2)).unwrap();
    let refused = |what: &str| {
        let nothing =
            fixture.put_back_frames().map(|ledger| (ledger.head().position, ledger.status().writer));
        assert!(matches!(nothing, Err(OpenError::NothingToPutBack)), "{what}: {nothing:?}");
        assert_eq!(fs::read(segment(&fixture, 2)).unwrap(), before, "{what}");
    };
    for (case, bytes) in forged.iter().enumerate() {
        let sealed = file.with_file_name(fixture.seal(&format!("{belongs}.g1"), bytes));
        fs::write(&sealed, bytes).unwrap();
        refused(&format!("sealed, {case}"));
        fs::remove_file(&sealed).unwrap();
    }
    // The genuine bytes, of another generation, and at another place.
    for named in [format!("{belongs}.g2"), "0000000002.seg@9.0.g1".to_owned()] {
        let sealed = file.with_file_name(fixture.seal(&named, &genuine));
        fs::write(&sealed, &genuine).unwrap();
        refused(&named);
        fs::remove_file(&sealed).unwrap();
    }
    let sealed = file.with_file_name(fixture.seal("0000000002.seg@9.0.g1", &genuine));
    fs::write(sealed, &genuine).unwrap();
    fs::write(file, &genuine).unwrap();
    check(&fixture.put_back_frames().unwrap(), head, "the genuine one among others");
}

#[test]
fn what_this_ledger_did_not_seal_is_neither_believed_nor_does_it_cost_anything() {
    let fixture = AnchorFixture::new();
    let ledger = fixture.open().unwrap();
    (0..10).for_each(|number| append(&ledger, number).unwrap());
    ledger.end_segment();
    append(&ledger, 10).unwrap();
    ledger.close().unwrap();
    drop(ledger);
    let kept = tables(&fixture);
    assert!(!kept.is_empty());
    let bytes = fs::read(segment(&fixture, 2)).unwrap();
    let names = [
        "0000000002.seg@0.0.unwritten".to_owned(),
        "0000000002.seg@0.0.g1.unwritten".to_owned(),
        format!("0000000002.seg@0.0.g1.{}.unwritten", "0".repeat(32)),
        "..seg@0.0.g1.unwritten".to_owned(),
        fixture.seal("0000000003.seg@0.0.g1", b"other bytes"),
        fixture.seal("../0000000003.seg@0.0.g1", &bytes).replace("../", ""),
    ];
    for name in &names {
        fs::write(fixture.ledger().join("quarantine").join(name), &bytes).unwrap();
    }
    for _ in 0..2 {
        let ledger = fixture.open().unwrap();
        assert_eq!(ledger.status().writer, WriterState::Ready);
        assert!(all(&ledger).unwrap().iter().all(|stored| stored.event.kind != PUT_BACK));
        ledger.close().unwrap();
    }
    let left = tables(&fixture);
    assert!(kept.iter().all(|table| left.contains(table)), "{kept:?}, {left:?}");
    assert_eq!(unwritten(&fixture).len(), names.len());
    let nothing = fixture.put_back_frames().map(|_| ()).unwrap_err();
    assert!(matches!(nothing, OpenError::NothingToPutBack), "{nothing}");
}

#[test]
fn a_frame_whose_place_was_taken_since_does_not_come_back() {
    let fixture = AnchorFixture::new();
    lost(&fixture, LostBytes::Tail);
    let [file] = &unwritten(&fixture)[..] else { panic!("one file") };
    let kept = fs::read(file).unwrap();
    // Somebody takes the file away: the log goes on without those events, and others take their places.
    fs::remove_file(file).unwrap();
    let cut = fixture.copy_to("cut");
    let ledger = fixture.open().unwrap();
    (20..25).for_each(|number| append(&ledger, number).unwrap());
    let head = ledger.head().position;
    ledger.close().unwrap();
    drop(ledger);
    fs::write(file, &kept).unwrap();
    let nothing = fixture.put_back_frames().map(|_| ()).unwrap_err();
    assert!(matches!(nothing, OpenError::NothingToPutBack), "{nothing}");
    let ledger = fixture.open().unwrap();
    assert_eq!(ledger.status().writer, WriterState::Ready);
    assert!(ledger.head().position > head);
    ledger.close().unwrap();
    drop(ledger);
    assert!(unwritten(&fixture).is_empty(), "it is set aside");

    // The log as it was before, with the frames: the anchor remembers what came after.
    fixture.put_back(&cut);
    fs::write(file, &kept).unwrap();
    let before = fs::read(segment(&fixture, 2)).unwrap();
    let refused = fixture.put_back_frames().map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::RolledBack(_)), "{refused}");
    assert_eq!(fs::read(segment(&fixture, 2)).unwrap(), before);
}
