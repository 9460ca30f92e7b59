//! Ledgers whose writer lies: sealed and signed with the right keys, so that only opening the frames tells.

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use bitacora_cli::verify::{FaultKind, Patience, Report, Verdict, VerifyOptions, verify_ledger};
use bitacora_formats::{
    BodyWriter, ChainTip, Codec, Data, Draft, Epoch, Event, FRAME_HEADER_BYTES, FrameHeader, FramePlan,
    FrameSealer, Frontier, Generation, Json, Keyring, LedgerId, LedgerKeys, Micros, Position, Record,
    SegmentHeader, SegmentNumber, SegmentPlan, StreamVersion, TreeHash, encode_record, genesis_tip,
    leaf_hash, seal_segment_header,
};

use bitacora_formats::limits::MAX_DATA_BYTES;

use crate::sample::{Sample, code, command, event, shown, told, write_keyring};

const TIME: Micros = Micros(1_800_000_000_000_000);

/// A ledger, one frame an event; of one segment until it is rolled.
struct Forger {
    /// What its random bytes count from.
    next: u8,
    /// Segments that are ended.
    ended: Vec<Vec<u8>>,
    keyring: Keyring,
    ledger: LedgerId,
    frontier: Frontier,
    sealer: FrameSealer,
    segment: Vec<u8>,
}

impl Forger {
    fn new() -> Self {
        let mut next = 0;
        let keyring = Keyring::generate(&mut counting(&mut next));
        let (ledger, frontier) = (LedgerId([5; 16]), Frontier::new());
        let mut segment = Vec::new();
        let plan = plan(ledger, 1, &frontier, genesis_tip());
        let sealer = seal_segment_header(plan, &keyring, &mut counting(&mut next), &mut segment).unwrap();
        Self { next, ended: Vec::new(), keyring, ledger, frontier, sealer, segment }
    }

    /// Ends the segment and begins another.
    fn roll(mut self) -> Self {
        let tip = self.sealer.footer(&mut self.segment).unwrap();
        self.ended.push(std::mem::take(&mut self.segment));
        let number = u32::try_from(self.ended.len()).unwrap() + 1;
        let plan = plan(self.ledger, number, &self.frontier, tip);
        self.sealer =
            seal_segment_header(plan, &self.keyring, &mut counting(&mut self.next), &mut self.segment)
                .unwrap();
        self
    }

    /// `ledger.created` as the ledger writes it.
    fn created(&self) -> Event<'static> {
        let source = format!("urn:bitacora:ledger:{}", self.ledger);
        let mut event = Event::new("ledger.created:1", source, "ledger.created", "ledger");
        let key = hex(&self.keyring.signing().public);
        let data = format!(r#"{{"ledger":"{}","name":"main","signingKey":"{key}"}}"#, self.ledger);
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        event
    }

    /// Seals a frame with one event in its place.
    fn honest(&mut self, event: Event<'static>, version: u64) {
        let record = record_of(event);
        let body = body_of(version, &record, None);
        let root = self.grow(&record);
        self.seal(&body, Codec::Stored, body.len(), 1, root);
    }

    /// Puts a record into the tree.
    fn grow(&mut self, record: &[u8]) -> TreeHash {
        let decoded = bitacora_formats::decode_record(record).unwrap();
        let keys = LedgerKeys::new(&self.keyring, self.ledger);
        let commitment = keys.commitment(&decoded.source, &decoded.id, record);
        let position = Position::new(self.frontier.size() + 1).unwrap();
        self.frontier.push(leaf_hash(position, TIME, &commitment));
        self.frontier.root()
    }

    fn seal(&mut self, body: &[u8], codec: Codec, body_bytes: usize, count: u32, tree_root: TreeHash) {
        let size = self.frontier.size();
        let first = Position::new(size + 1 - u64::from(count)).unwrap();
        let plan = FramePlan { first, count, time: TIME, tree_size: size, tree_root };
        let body_bytes = u32::try_from(body_bytes).unwrap();
        self.sealer.seal(plan, codec, body, body_bytes, &mut self.segment).unwrap();
    }

    /// Ends the last segment and writes all of them into a folder. Gives the keys that open them.
    fn write(mut self, folder: &Path) -> Keyring {
        self.sealer.footer(&mut self.segment).unwrap();
        self.ended.push(self.segment);
        fs::create_dir_all(folder.join("segments")).unwrap();
        for (number, segment) in (1..).zip(&self.ended) {
            fs::write(folder.join(shown(number)), segment).unwrap();
        }
        fs::write(folder.join("signing-keys.note"), self.keyring.signing_chain_note()).unwrap();
        self.keyring
    }

    /// Verifies what was forged without keys, which finds nothing, and with them, by any number of threads alike.
    fn verify(self) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let keyring = self.write(folder.path());
        let keyless = VerifyOptions { patience: Patience::NONE, ..Default::default() };
        let report = verify_ledger(folder.path(), &keyless);
        assert_eq!(report.verdict(), Verdict::Alone, "the chain holds: {report:?}");
        let [one, two, four] = [1, 2, 4].map(|threads| {
            let (keyring, threads) = (Some(&keyring), NonZero::new(threads));
            let options = VerifyOptions { keyring, name: Some("main"), threads, ..keyless };
            Report { elapsed: Duration::ZERO, ..verify_ledger(folder.path(), &options) }
        });
        assert_eq!((&one, &one), (&two, &four), "by one thread, by two and by four");
        one
    }

    /// What verifying with keys finds.
    fn found(self) -> (FaultKind, u64) {
        let last = u32::try_from(self.ended.len()).unwrap() + 1;
        let report = self.verify();
        let fault = report.fault.unwrap_or_else(|| panic!("nothing is found"));
        assert_eq!(fault.file, shown(last));
        (*fault.kind, fault.first_position)
    }
}

/// Random bytes that are none: they count up.
fn counting(next: &mut u8) -> impl FnMut(&mut [u8]) {
    move |bytes| {
        for byte in bytes {
            *next = next.wrapping_add(1);
            *byte = *next;
        }
    }
}

fn plan(ledger: LedgerId, number: u32, frontier: &Frontier, tip: ChainTip) -> SegmentPlan<'_> {
    SegmentPlan {
        ledger,
        generation: Generation::FIRST,
        epoch: Epoch::FIRST,
        number: SegmentNumber(number),
        first_position: Position::new(frontier.size() + 1).unwrap(),
        created: TIME,
        frontier,
        tip,
    }
}

fn record_of(event: Event<'static>) -> Vec<u8> {
    match Record::draft(event, 0) {
        Draft::Clear(record) => encode_record(&record).unwrap(),
        Draft::Sensitive { .. } => panic!("an event without a data subject is needed"),
    }
}

fn body_of(version: u64, record: &[u8], part: Option<&[u8]>) -> Vec<u8> {
    let mut body = BodyWriter::new();
    body.begin_request(1).unwrap();
    body.entry(StreamVersion::new(version).unwrap(), record, part).unwrap();
    body.end_request().unwrap();
    body.finish().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A ledger with its creation, honest so far.
fn begun() -> Forger {
    let mut forger = Forger::new();
    forger.honest(forger.created(), 1);
    forger
}

#[test]
fn what_is_honest_passes() {
    let mut forger = begun();
    forger.honest(event("1", "s"), 1);
    forger.honest(event("2", "s"), 2);
    let report = forger.verify();
    assert_eq!((report.verdict(), report.contents.unwrap().events), (Verdict::Alone, 3), "{report:?}");
}

#[test]
fn a_tree_that_is_not_that_of_the_records_is_found() {
    let mut forger = begun();
    let body = body_of(1, &record_of(event("1", "s")), None);
    let root = forger.grow(&record_of(event("2", "s")));
    forger.seal(&body, Codec::Stored, body.len(), 1, root);
    assert!(matches!(forger.found(), (FaultKind::TreeRoot { .. }, 2)));
}

#[test]
fn a_stream_with_a_gap_or_a_version_twice_is_found() {
    for (second, expected) in [(3, 2), (1, 2)] {
        let mut forger = begun();
        forger.honest(event("1", "s"), 1);
        forger.honest(event("2", "s"), second);
        assert_eq!(forger.found(), (FaultKind::StreamVersion { expected, found: second }, 3));
    }
}

#[test]
fn a_stream_with_a_gap_between_two_segments_is_found() {
    for (second, expected) in [(2, None), (3, Some(2)), (1, Some(2))] {
        let mut forger = begun();
        forger.honest(event("1", "s"), 1);
        forger.honest(event("1", "t"), 1);
        let mut forger = forger.roll();
        forger.honest(event("2", "t"), 2);
        forger.honest(event("2", "s"), second);
        forger.honest(event("1", "u"), 1);
        match expected {
            None => assert_eq!(forger.verify().verdict(), Verdict::Alone),
            Some(expected) => {
                assert_eq!(forger.found(), (FaultKind::StreamVersion { expected, found: second }, 5));
            }
        }
    }
}

#[test]
fn of_two_gaps_in_streams_the_first_one_is_told_whichever_segment_it_begins_in() {
    let mut forger = begun();
    forger.honest(event("1", "s"), 1);
    let mut forger = forger.roll();
    forger.honest(event("2", "s"), 3);
    forger.honest(event("1", "t"), 1);
    forger.honest(event("2", "t"), 3);
    assert_eq!(forger.found(), (FaultKind::StreamVersion { expected: 2, found: 3 }, 3));
}

#[test]
fn a_first_event_that_is_not_the_making_of_this_ledger_is_found() {
    let key = hex(&Forger::new().keyring.signing().public);
    let id = LedgerId([5; 16]);
    for (what, data) in [
        ("ledger", format!(r#"{{"ledger":"{}","name":"main","signingKey":"{key}"}}"#, LedgerId([6; 16]))),
        ("signingKey", format!(r#"{{"ledger":"{id}","name":"main","signingKey":"{}"}}"#, hex(&[7; 32]))),
        ("name", format!(r#"{{"ledger":"{id}","name":"other","signingKey":"{key}"}}"#)),
        ("data", "{}".to_owned()),
    ] {
        let mut forger = Forger::new();
        let mut created = forger.created();
        created.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        forger.honest(created, 1);
        let (kind, position) = forger.found();
        assert!(matches!(&kind, FaultKind::Genesis { what: found, .. } if *found == what), "{what}: {kind}");
        assert_eq!(position, 1);
    }
    let mut forger = Forger::new();
    forger.honest(event("1", "s"), 1);
    assert!(matches!(forger.found(), (FaultKind::Genesis { what: "type", .. }, 1)));
}

#[test]
fn a_body_or_record_that_is_none_is_found() {
    let mut forger = begun();
    let record = record_of(event("1", "s"));
    let root = forger.grow(&record);
    forger.seal(b"no body at all", Codec::Stored, 14, 1, root);
    assert!(matches!(forger.found(), (FaultKind::Body(_), 2)));

    let mut forger = begun();
    let root = forger.grow(&record);
    let body = body_of(1, b"no record", None);
    forger.seal(&body, Codec::Stored, body.len(), 1, root);
    assert!(matches!(forger.found(), (FaultKind::Record(_), 2)));

    let mut forger = begun();
    forger.grow(&record);
    let root = forger.grow(&record);
    let body = body_of(1, &record, None);
    forger.seal(&body, Codec::Stored, body.len(), 2, root);
    assert!(matches!(forger.found(), (FaultKind::Body(_), 2)), "a frame that counts more events than it has");
}

#[test]
fn a_part_that_no_record_names_is_found() {
    let mut forger = begun();
    let record = record_of(event("1", "s"));
    let root = forger.grow(&record);
    let body = body_of(1, &record, Some(b"something hidden"));
    forger.seal(&body, Codec::Stored, body.len(), 1, root);
    assert!(matches!(forger.found(), (FaultKind::PartPresence { .. }, 2)));
}

#[test]
fn a_frame_that_unpacks_to_more_than_it_says_is_refused_unread() {
    let bomb = zstd::bulk::compress(&vec![0; 256 * 1024 * 1024], 1).unwrap();
    let mut forger = begun();
    let root = forger.grow(&record_of(event("1", "s")));
    forger.seal(&bomb, Codec::Zstd, bomb.len() + 1, 1, root);
    assert!(matches!(forger.found(), (FaultKind::Open(_), 2)));
}

/// Frames of a segment: some of a few bytes and some of these, which are opened by whichever thread has time …
const SMALL_FRAMES: u64 = 40;
const SMALL_DATA_BYTES: usize = 32 * 1024;
/// … and some of as many as an event may have, more than are held at once.
const LARGE_FRAMES: u64 = 5;

/// One segment of many frames; where `wrong` lies, in order, a stream has a gap.
fn many_frames(wrong: &[u64]) -> Forger {
    let mut forger = begun();
    let mut next = 1;
    for number in 1..=SMALL_FRAMES + LARGE_FRAMES {
        let mut event = event(&number.to_string(), "s");
        let data_bytes = if number > SMALL_FRAMES { MAX_DATA_BYTES } else { SMALL_DATA_BYTES };
        if number % 8 != 0 {
            let text = "large".repeat(data_bytes / 5 - 1);
            event.data = Data::Json(Json::check(format!("\"{text}\"").into_bytes()).unwrap());
        }
        next += u64::from(wrong.contains(&number));
        forger.honest(event, next);
        next += 1;
    }
    forger
}

/// What the program tells by one thread, which it must tell by two and four too, but for what its clock tells.
fn told_by_any_threads(data: &Path, keyring: &Path) -> (i32, serde_json::Value) {
    let [one, two, four] = ["1", "2", "4"].map(|threads| {
        let mut command = command(&["verify", "--json", "--with-keys", "--threads", threads]);
        let output = command.arg("--data").arg(data).arg("--keyring").arg(keyring).output().unwrap();
        let mut told = told(&output);
        for measured in ["elapsedMs", "eventsPerSecond", "bytesPerSecond"] {
            told.as_object_mut().unwrap().remove(measured).unwrap();
        }
        (code(&output), told.to_string(), output.stderr, told)
    });
    assert_eq!((&one, &one), (&two, &four), "by one thread, by two and by four");
    (one.0, one.3)
}

fn first_position(told: &serde_json::Value) -> Option<u64> {
    told.pointer("/fault/firstPosition")
        .map(|position| position.as_str().unwrap())
        .map(|position| position.parse().unwrap())
}

#[test]
fn one_segment_is_told_the_same_by_any_number_of_threads() {
    for (wrong, exit, position) in [
        (vec![], 10, None),
        (vec![30, 31, SMALL_FRAMES + LARGE_FRAMES], 40, Some(31)),
        (vec![SMALL_FRAMES + LARGE_FRAMES], 40, Some(SMALL_FRAMES + LARGE_FRAMES + 1)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (data, keyring) = (folder.path().join("data"), folder.path().join("keyring"));
        let keys = many_frames(&wrong).write(&data.join("ledgers/main"));
        fs::write(data.join("FORMAT"), "bitacora-data v1\n").unwrap();
        write_keyring(&keyring, &keys);
        let (code, told) = told_by_any_threads(&data, &keyring);
        assert_eq!((code, first_position(&told)), (exit, position), "{wrong:?}: {told}");

        let path = data.join("ledgers/main").join(shown(1));
        let mut damaged = fs::read(&path).unwrap();
        let at = damaged.len() / 2;
        damaged[at] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let (code, told) = told_by_any_threads(&data, &keyring);
        let first = first_position(&told).unwrap();
        let earlier = position.filter(|position| *position <= SMALL_FRAMES);
        assert!(code == 40 && earlier.map_or(first > SMALL_FRAMES, |earlier| first == earlier), "{told}");
    }
}

#[test]
fn a_changed_frame_with_its_checksum_mended_is_found() {
    let sample = Sample::new(2);
    for number in [1, 2, 3] {
        let path = sample.segment(number);
        let whole = fs::read(&path).unwrap();
        let mut offset = SegmentHeader::parse(&whole).unwrap().stored_bytes();
        while let Ok(header) = FrameHeader::parse(&whole[offset..]) {
            let end = offset + header.stored_bytes();
            for at in [offset + FRAME_HEADER_BYTES - 1, offset + FRAME_HEADER_BYTES, end - 5 - 64, end - 5] {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                let crc = crc32(&changed[offset..end - 4]);
                changed[end - 4..end].copy_from_slice(&crc.to_le_bytes());
                fs::write(&path, &changed).unwrap();
                let report = sample.verify(false);
                let what = format!("segment {number}, frame at {offset}, byte {at}: {report:?}");
                assert_eq!(report.verdict(), Verdict::Invalid, "{what}");
                assert_eq!(report.fault.as_ref().unwrap().file, shown(number), "{what}");
            }
            offset = end;
        }
        fs::write(&path, &whole).unwrap();
    }
}

/// CRC-32/IEEE, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
