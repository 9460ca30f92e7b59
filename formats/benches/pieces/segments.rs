//! Segments in memory, sealed as a ledger seals them.

use bitacora_formats::{
    Codec, Commitment, Epoch, FrameOpener, FramePlan, FrameSealer, Frontier, Generation, Micros, Position,
    SegmentNumber, SegmentPlan, genesis_tip, leaf_hash, seal_segment_header,
};

use crate::events::{keyring, ledger};

/// A segment and what goes on with it.
pub(crate) struct Segment {
    pub(crate) bytes: Vec<u8>,
    sealer: FrameSealer,
    frontier: Frontier,
}

/// A segment with frames of these many bytes, one event each.
pub(crate) fn segment_of(frames: &[usize]) -> Segment {
    let plan = SegmentPlan {
        ledger: ledger(),
        generation: Generation::FIRST,
        epoch: Epoch::FIRST,
        number: SegmentNumber::FIRST,
        first_position: Position::FIRST,
        created: Micros(1),
        frontier: &Frontier::new(),
        tip: genesis_tip(),
    };
    let mut next = 0_u8;
    let mut random = |bytes: &mut [u8]| {
        for byte in bytes {
            next = next.wrapping_add(1);
            *byte = next;
        }
    };
    let mut bytes = Vec::new();
    let sealer = seal_segment_header(plan, &keyring(), &mut random, &mut bytes).unwrap();
    let mut segment = Segment { bytes, sealer, frontier: Frontier::new() };
    for length in frames {
        let mut frame = Vec::new();
        segment.frame(Codec::Stored, &vec![0x5a; *length], &mut frame);
        segment.bytes.append(&mut frame);
    }
    segment
}

impl Segment {
    /// Seals the next frame.
    pub(crate) fn frame(&mut self, codec: Codec, body: &[u8], out: &mut Vec<u8>) {
        let first = Position::new(self.frontier.size() + 1).unwrap();
        let time = Micros(1);
        let commitment = Commitment([7; 32]);
        self.frontier.push(leaf_hash(first, time, &commitment));
        let (tree_size, tree_root) = (self.frontier.size(), self.frontier.root());
        let plan = FramePlan { first, count: 1, time, tree_size, tree_root };
        self.sealer.seal(plan, codec, body, u32::try_from(body.len()).unwrap(), out).unwrap();
    }

    pub(crate) fn opener(&self) -> FrameOpener {
        FrameOpener::new(self.sealer.segment_key())
    }
}
