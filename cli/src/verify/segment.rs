//! The walk over one segment, kept for those who open its frames afterwards.

use bitacora_formats::{
    ChainHash, HeaderStep, LedgerId, Micros, Position, SegmentEnd, SegmentHeader, SegmentNumber, SegmentWalk,
    Step, StoredFrame, WalkedFrame,
};

use super::fault::{Fault, FaultKind};
use super::folder::shown;

/// A segment, or as much of it as holds: every frame is linked, and its writer proven.
pub(super) struct WalkedSegment {
    pub(super) number: SegmentNumber,
    pub(super) header: SegmentHeader,
    bytes: Vec<u8>,
    frames: Vec<FramePlace>,
    /// Signatures verified: certificate, footer or last frame, and every frame where that was asked.
    pub(super) signatures: u64,
    /// What the next segment must go on with.
    pub(super) end: SegmentEnd,
}

/// Where a frame begins, and what the chain is after it.
#[derive(Clone, Copy)]
struct FramePlace {
    offset: u64,
    time: Micros,
    hash: ChainHash,
}

impl WalkedSegment {
    /// The memory that held it, for another one.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn frame_count(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn events(&self) -> u64 {
        self.end.next_position.get() - self.header.first_position.get()
    }

    /// Bytes of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The time of the first frame.
    pub(super) fn first_time(&self) -> Option<Micros> {
        self.frames.first().map(|frame| frame.time)
    }

    /// The chain hash after the last frame.
    pub(super) fn head_hash(&self) -> Option<ChainHash> {
        self.frames.last().map(|frame| frame.hash)
    }

    /// How the segment is named in findings.
    pub(super) fn shown(&self) -> String {
        shown(self.number)
    }

    /// A fault at a place of it.
    pub(super) fn fault(
        &self,
        offset: u64,
        first: Position,
        last: Option<Position>,
        kind: FaultKind,
    ) -> Fault {
        Fault {
            file: self.shown(),
            offset,
            first_position: first.get(),
            last_position: last.map(Position::get),
            kind: Box::new(kind),
            torn: false,
        }
    }

    /// The frame with this index, from 0, and where it begins.
    pub(super) fn frame(&self, index: usize) -> Option<(u64, StoredFrame<'_>)> {
        let offset = self.frames.get(index)?.offset;
        let rest = self.bytes.get(usize::try_from(offset).ok()?..)?;
        Some((offset, StoredFrame::parse(rest).ok()?))
    }
}

impl From<WalkedFrame<'_>> for FramePlace {
    fn from(frame: WalkedFrame<'_>) -> Self {
        Self { offset: frame.offset, time: frame.stored.header().time, hash: frame.tip.hash }
    }
}

/// Walks over a segment that must go on from `expect`; the first one has nothing to go on from.
///
/// The first value is what of it holds, the second the fault that ends it.
pub(super) fn walk(
    number: SegmentNumber,
    bytes: Vec<u8>,
    expect: Option<&SegmentEnd>,
    every_signature: bool,
) -> (Option<WalkedSegment>, Option<Fault>) {
    let expect = expect.copied().unwrap_or_else(|| SegmentEnd::before_first(ledger_of(&bytes)));
    let (walk, header) = match SegmentWalk::start(&bytes, Some(&expect)) {
        Ok(started) => started,
        Err(step) => return (None, Some(not_started(number, &expect, &step))),
    };
    let mut walk = walk.every_signature(every_signature);
    let (mut frames, mut is_closed) = (Vec::<FramePlace>::new(), false);
    let damage = loop {
        match walk.next_step() {
            Step::Frame(frame) => frames.push(frame.into()),
            Step::Footer(_) => is_closed = true,
            Step::End => break None,
            Step::Torn(damage) => break Some((damage, true)),
            Step::Corrupt(damage) => break Some((damage, false)),
        }
    };
    let (end, written_bytes) = (*walk.end(), walk.offset());
    let fault = match damage {
        Some((damage, torn)) => Some(Fault::of_damage(shown(number), &damage, torn)),
        None if frames.is_empty() => Some(no_frame(number, written_bytes, &end)),
        None => None,
    };
    // A frame is given out before its signature is known to hold, and taken back if it does not.
    frames.retain(|frame| frame.offset < written_bytes);
    let at_the_end = u64::from(is_closed || !every_signature);
    let signatures = 1 + at_the_end + if every_signature { frames.len() as u64 } else { 0 };
    (Some(WalkedSegment { number, header, bytes, frames, signatures, end }), fault)
}

/// The first segment says itself which ledger it is of.
fn ledger_of(bytes: &[u8]) -> LedgerId {
    SegmentHeader::parse(bytes).map_or(LedgerId([0; 16]), |header| header.ledger)
}

fn not_started(number: SegmentNumber, expect: &SegmentEnd, step: &HeaderStep) -> Fault {
    match step {
        HeaderStep::Torn(damage) => Fault::of_damage(shown(number), damage, true),
        HeaderStep::Corrupt(damage) => Fault::of_damage(shown(number), damage, false),
        HeaderStep::Unwritten => Fault {
            file: shown(number),
            offset: 0,
            first_position: expect.next_position.get(),
            last_position: None,
            kind: Box::new(FaultKind::Blank { next: shown(number.next().unwrap_or(number)) }),
            torn: false,
        },
    }
}

/// Header and first frame are one write: one without the other was torn.
fn no_frame(number: SegmentNumber, offset: u64, end: &SegmentEnd) -> Fault {
    Fault {
        file: shown(number),
        offset,
        first_position: end.next_position.get(),
        last_position: None,
        kind: Box::new(FaultKind::NoFrame),
        torn: true,
    }
}
