//! Seeds that are segment files, and the headers, frames and footers in them.

use bitacora_formats::{
    ChainTip, Commitment, Compressor, Epoch, FOOTER_BYTES, FramePlan, FrameSealer, Frontier, Generation,
    Keyring, LedgerId, Micros, Position, SegmentNumber, SegmentPlan, genesis_tip, leaf_hash,
    seal_segment_header,
};

use crate::{Seeds, counting_from};

/// Zeros behind a segment that was not closed.
const UNWRITTEN_BYTES: usize = 64;

pub(crate) fn all() -> Vec<Seeds> {
    let mut ledger = Ledger::new();
    let closed = ledger.segment(&[b"one", &[7; 100], &[b'x'; 400]], true);
    let live = ledger.segment(&[b"two"], false);
    let untouched = ledger.segment(&[], false);
    let segments = [&closed, &live, &untouched];

    let mut files: Vec<_> = segments.iter().map(|segment| segment.bytes.clone()).collect();
    files.push(vec![0; UNWRITTEN_BYTES]);
    files.extend(torn(&closed));
    let headers = segments.iter().map(|segment| segment.bytes[..segment.frames[0]].to_vec()).collect();
    let frames = segments.iter().flat_map(|segment| segment.stored_frames()).collect();
    let footer = closed.bytes[closed.bytes.len() - FOOTER_BYTES..].to_vec();
    vec![
        Seeds { target: "segment_walk", inputs: files },
        Seeds { target: "segment_header", inputs: headers },
        Seeds { target: "stored_frame", inputs: frames },
        Seeds { target: "footer", inputs: vec![footer] },
    ]
}

/// A segment's bytes, and where each frame begins and the last one ends.
struct Segment {
    bytes: Vec<u8>,
    frames: Vec<usize>,
}

impl Segment {
    fn stored_frames(&self) -> impl Iterator<Item = Vec<u8>> {
        self.frames.windows(2).map(|ends| self.bytes[ends[0]..ends[1]].to_vec())
    }
}

/// The last frame, the first write and the footer, each written in part.
fn torn(closed: &Segment) -> impl Iterator<Item = Vec<u8>> {
    let [first, .., last, end] = closed.frames[..] else { unreachable!("it has three frames") };
    [last + 200, first - 30, end + 20].into_iter().map(|cut| {
        let mut bytes = closed.bytes[..cut].to_vec();
        bytes.resize(cut + UNWRITTEN_BYTES, 0);
        bytes
    })
}

/// A writer of segments, one after another.
struct Ledger {
    keyring: Keyring,
    compressor: Compressor,
    frontier: Frontier,
    tip: ChainTip,
    number: SegmentNumber,
    time: Micros,
}

impl Ledger {
    fn new() -> Self {
        Self {
            keyring: Keyring::generate(&mut counting_from(1)),
            compressor: Compressor::new(3).unwrap(),
            frontier: Frontier::new(),
            tip: genesis_tip(),
            number: SegmentNumber::FIRST,
            time: Micros(1_800_000_000_000_000),
        }
    }

    fn segment(&mut self, bodies: &[&[u8]], closed: bool) -> Segment {
        let plan = SegmentPlan {
            ledger: LedgerId([1; 16]),
            generation: Generation::FIRST,
            epoch: Epoch(self.number.0),
            number: self.number,
            first_position: self.next_position(),
            created: self.time,
            frontier: &self.frontier,
            tip: self.tip,
        };
        let (mut bytes, mut frames) = (Vec::new(), Vec::new());
        let mut sealer = seal_segment_header(plan, &self.keyring, &mut counting_from(9), &mut bytes).unwrap();
        self.tip = *sealer.tip();
        self.number = self.number.next().unwrap();
        for body in bodies {
            frames.push(bytes.len());
            self.frame(&mut sealer, body, &mut bytes);
        }
        frames.push(bytes.len());
        if closed {
            self.tip = sealer.footer(&mut bytes).unwrap();
        }
        bytes.resize(bytes.len() + UNWRITTEN_BYTES * usize::from(!closed), 0);
        Segment { bytes, frames }
    }

    /// A frame of three events.
    fn frame(&mut self, sealer: &mut FrameSealer, body: &[u8], out: &mut Vec<u8>) {
        let first = self.next_position();
        self.time = Micros(self.time.0 + 1_000);
        for _ in 0..3 {
            self.frontier.push(leaf_hash(self.next_position(), self.time, &Commitment([4; 32])));
        }
        let (tree_size, tree_root) = (self.frontier.size(), self.frontier.root());
        let plan = FramePlan { first, count: 3, time: self.time, tree_size, tree_root };
        let (codec, compressed) = self.compressor.compress(body);
        let body_bytes = u32::try_from(body.len()).unwrap();
        self.tip = sealer.seal(plan, codec, compressed, body_bytes, out).unwrap();
    }

    fn next_position(&self) -> Position {
        Position::new(self.frontier.size() + 1).unwrap()
    }
}
