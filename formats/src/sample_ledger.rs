//! A small ledger built in memory, the same at every run, for tests of readers.

use crate::chain::{ChainTip, genesis_tip};
use crate::compression::Codec;
use crate::ids::{Commitment, Epoch, Generation, LedgerId, Micros, Position, SegmentNumber};
use crate::keyring::Keyring;
use crate::sealer::{FramePlan, FrameSealer};
use crate::segment::{SegmentPlan, seal_segment_header};
use crate::tree::{Frontier, leaf_hash};

/// 2027-01-15T08:00:00Z.
pub(crate) const START: Micros = Micros(1_800_000_000_000_000);

/// A segment's bytes and where its parts begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleSegment {
    pub(crate) bytes: Vec<u8>,
    /// The offset of each frame, then the offset behind the last one.
    pub(crate) frames: Vec<usize>,
}

/// The writer of a ledger.
pub(crate) struct SampleLedger {
    pub(crate) keyring: Keyring,
    pub(crate) id: LedgerId,
    pub(crate) frontier: Frontier,
    pub(crate) tip: ChainTip,
    pub(crate) time: Micros,
    pub(crate) epoch: Epoch,
    pub(crate) number: SegmentNumber,
    /// The first byte of the next segment's counted "random" bytes.
    random: u8,
}

/// Bytes that count up: not random at all, but the same at every run.
pub(crate) fn counting_from(first: u8) -> impl FnMut(&mut [u8]) {
    let mut next = first;
    move |bytes| {
        for byte in bytes {
            *byte = next;
            next = next.wrapping_add(1);
        }
    }
}

/// The body of the frame with this index in its segment.
pub(crate) fn sample_body(index: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + index).to_le_bytes()[0]).collect()
}

impl SampleLedger {
    pub(crate) fn new(id: u8) -> Self {
        Self {
            keyring: Keyring::generate(&mut counting_from(id)),
            id: LedgerId([id; 16]),
            frontier: Frontier::new(),
            tip: genesis_tip(),
            time: START,
            epoch: Epoch::FIRST,
            number: SegmentNumber::FIRST,
            random: id.wrapping_mul(31),
        }
    }

    /// Appends a segment with frames of these many bytes, two events each; without a footer it ends in zeros.
    pub(crate) fn segment(&mut self, body_bytes: &[usize], closed: bool) -> SampleSegment {
        let mut segment = SampleSegment::default();
        let mut sealer = self.begin(&mut segment.bytes);
        for (index, bytes) in body_bytes.iter().enumerate() {
            segment.frames.push(segment.bytes.len());
            self.frame(&mut sealer, 2, &sample_body(index, *bytes), &mut segment.bytes);
        }
        segment.frames.push(segment.bytes.len());
        if closed {
            self.tip = sealer.footer(&mut segment.bytes).unwrap();
        } else {
            segment.bytes.extend_from_slice(&[0; 300]);
        }
        segment
    }

    pub(crate) fn begin(&mut self, out: &mut Vec<u8>) -> FrameSealer {
        let plan = SegmentPlan {
            ledger: self.id,
            generation: Generation::FIRST,
            epoch: self.epoch,
            number: self.number,
            first_position: self.next_position(),
            created: self.time,
            frontier: &self.frontier,
            tip: self.tip,
        };
        let sealer = seal_segment_header(plan, &self.keyring, &mut counting_from(self.random), out).unwrap();
        self.random = self.random.wrapping_add(83);
        self.tip = *sealer.tip();
        self.number = self.number.next().unwrap();
        sealer
    }

    pub(crate) fn frame(&mut self, sealer: &mut FrameSealer, count: u32, body: &[u8], out: &mut Vec<u8>) {
        let plan = self.plan(count);
        let body_bytes = u32::try_from(body.len()).unwrap();
        self.tip = sealer.seal(plan, Codec::Stored, body, body_bytes, out).unwrap();
    }

    /// The next frame, its events pushed to the tree.
    pub(crate) fn plan(&mut self, count: u32) -> FramePlan {
        let first = self.next_position();
        self.time = Micros(self.time.0 + 1_000);
        for _ in 0..count {
            let position = self.next_position();
            let commitment = Commitment([position.get().to_le_bytes()[0]; 32]);
            self.frontier.push(leaf_hash(position, self.time, &commitment));
        }
        let (tree_size, tree_root) = (self.frontier.size(), self.frontier.root());
        FramePlan { first, count, time: self.time, tree_size, tree_root }
    }

    pub(crate) fn next_position(&self) -> Position {
        Position::new(self.frontier.size() + 1).unwrap()
    }
}
