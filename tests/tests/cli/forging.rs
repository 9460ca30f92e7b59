//! Ledgers whose writer lies: sealed and signed with the right keys, so that only opened frames tell.

mod contents;
mod frames;
mod heads;
mod losses;
mod numbers;
mod streams;
mod threads;

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use bitacora_formats::{
    BodyWriter, ChainHash, ChainTip, Codec, Data, Epoch, Event, EventDraft, FramePlan, FrameSealer, Frontier,
    Generation, Json, Keyring, LedgerId, LedgerKeys, Micros, Position, Record, SegmentNumber, SegmentPlan,
    StreamVersion, TreeHash, encode_record, genesis_tip, leaf_hash, seal_segment_header,
};
use bitacora_verify::{FaultKind, Report, TailRetries, Verdict, VerifyOptions, verify_ledger};

use crate::sample::{event, shown};

const TIME: Micros = Micros(1_800_000_000_000_000);

/// A ledger, one frame an event; of one segment until it is rolled.
struct Forger {
    /// The first of its next random bytes.
    next: u8,
    /// The chain hash that the segment goes on from.
    previous: ChainHash,
    /// Segments that are ended.
    ended: Vec<Vec<u8>>,
    keyring: Keyring,
    ledger: LedgerId,
    frontier: Frontier,
    generation: Generation,
    sealer: FrameSealer,
    segment: Vec<u8>,
}

impl Forger {
    fn new() -> Self {
        let mut next = 0;
        let keyring = Keyring::generate(&mut counting(&mut next));
        let (ledger, frontier) = (LedgerId([5; 16]), Frontier::new());
        let mut segment = Vec::new();
        let generation = Generation::FIRST;
        let plan = plan((ledger, generation), 1, &frontier, genesis_tip());
        let sealer = seal_segment_header(plan, &keyring, &mut counting(&mut next), &mut segment).unwrap();
        Self {
            next,
            previous: genesis_tip().hash,
            ended: Vec::new(),
            keyring,
            ledger,
            frontier,
            generation,
            sealer,
            segment,
        }
    }

    /// Ends the segment and begins another.
    fn roll(self) -> Self {
        self.roll_in(Epoch::FIRST)
    }

    /// Ends the segment and begins another, in this epoch.
    fn roll_in(mut self, epoch: Epoch) -> Self {
        let tip = self.sealer.footer(&mut self.segment).unwrap();
        self.previous = tip.hash;
        self.ended.push(std::mem::take(&mut self.segment));
        let number = u32::try_from(self.ended.len()).unwrap() + 1;
        let mut plan = plan((self.ledger, self.generation), number, &self.frontier, tip);
        plan.epoch = epoch;
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
        write_segments(folder, &self.ended, &self.keyring);
        self.keyring
    }

    /// The same, but does not end the last segment: zeros follow it, as in one that is written.
    fn write_unended(mut self, folder: &Path) -> Keyring {
        self.segment.resize(self.segment.len() + 4_096, 0);
        self.ended.push(self.segment);
        write_segments(folder, &self.ended, &self.keyring);
        self.keyring
    }

    /// Verifies what was forged without keys, which finds nothing, and with them, by any number of threads alike.
    fn verify(self) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let keyring = self.write(folder.path());
        let keyless = VerifyOptions { patience: TailRetries::NONE, ..Default::default() };
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

    /// Returns the fault that verifying with keys finds.
    fn found(self) -> (FaultKind, u64) {
        let last = u32::try_from(self.ended.len()).unwrap() + 1;
        let report = self.verify();
        let fault = report.fault.unwrap_or_else(|| panic!("nothing is found"));
        assert_eq!(fault.file, shown(last));
        (*fault.kind, fault.first_position)
    }
}

fn write_segments(folder: &Path, segments: &[Vec<u8>], keyring: &Keyring) {
    fs::create_dir_all(folder.join("segments")).unwrap();
    for (number, segment) in (1..).zip(segments) {
        fs::write(folder.join(shown(number)), segment).unwrap();
    }
    fs::write(folder.join("signing-keys.note"), keyring.signing_chain_note()).unwrap();
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

fn plan(
    (ledger, generation): (LedgerId, Generation),
    number: u32,
    frontier: &Frontier,
    tip: ChainTip,
) -> SegmentPlan<'_> {
    SegmentPlan {
        ledger,
        generation,
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
        EventDraft::Clear(record) => encode_record(&record).unwrap(),
        EventDraft::Sensitive { .. } => panic!("an event without a data subject is needed"),
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
