//! The walk over one segment that did not pass, which finds its first fault.

use bitacora_formats::{
    ChainHash, ChainTip, HeaderStep, LedgerId, Micros, SegmentEnd, SegmentHeader, SegmentNumber, SegmentWalk,
    Step, StoredFrame, WalkedFrame,
};

use super::checks::{Checks, FrameFindings, FrameWorkspace, SegmentChecks};
use super::fault::{Fault, FaultKind};
use super::folder::shown;
use super::heads::ReadHeads;
use super::history::PastSegment;

/// A segment, or its valid part: every frame is linked, and its writer proven.
pub(super) struct CheckedSegment {
    pub(super) number: SegmentNumber,
    pub(super) header: SegmentHeader,
    /// The size of the file.
    pub(super) file_bytes: u64,
    pub(super) frames: u64,
    /// The number of verified signatures: certificate, footer or last frame, and every frame where that was asked.
    pub(super) signatures: u64,
    /// The time of the first frame.
    pub(super) first_time: Option<Micros>,
    /// The chain hash after the last frame.
    pub(super) head_hash: Option<ChainHash>,
    /// The end that the next segment must continue.
    pub(super) end: SegmentEnd,
    pub(super) found: FrameFindings,
}

impl CheckedSegment {
    pub(super) fn events(&self) -> u64 {
        self.end.next_position.get() - self.header.first_position.get()
    }

    /// Returns the part of it that events of later segments are compared with.
    pub(super) fn past(&self) -> PastSegment {
        PastSegment {
            number: self.number,
            first_position: self.header.first_position,
            next_position: self.end.next_position,
            last_hash: self.head_hash,
        }
    }

    /// Returns `true` if it continues the end of the one before, or, if it is the first one, begins a ledger.
    pub(super) fn goes_on_from(&self, end: Option<&SegmentEnd>) -> bool {
        let end = end.copied().unwrap_or_else(|| SegmentEnd::before_first(self.header.ledger));
        self.first_time.is_some_and(|first| end.check_next(&self.header, first).is_ok())
    }
}

/// Returns the number of signatures: the certificate, the footer or the last frame, and every frame where that was asked.
pub(super) fn signatures(is_closed: bool, every_signature: bool, frames: u64) -> u64 {
    1 + u64::from(is_closed || !every_signature) + if every_signature { frames } else { 0 }
}

/// The beginning of a frame, and the chain after it.
#[derive(Clone, Copy)]
struct FrameStart {
    offset: u64,
    time: Micros,
    tip: ChainTip,
}

/// Walks over a segment that must continue `expect`, or begin the ledger. Its tree heads were read before it.
///
/// The first value is its valid part, the second the fault that ends it. A fault in the contents or leaves of frames
/// precedes one that ends the chain, since those frames come before.
pub(super) fn walk(
    (number, heads): (SegmentNumber, ReadHeads),
    bytes: &[u8],
    expect: Option<&SegmentEnd>,
    checks: &Checks<'_>,
    workspace: &mut FrameWorkspace,
) -> (Option<CheckedSegment>, Option<Fault>) {
    let expect = expect.copied().unwrap_or_else(|| SegmentEnd::before_first(ledger_of(bytes)));
    let (walk, header) = match SegmentWalk::start(bytes, Some(&expect)) {
        Ok(started) => started,
        Err(step) => return (None, Some(not_started(number, &expect, &step))),
    };
    let mut walk = walk.every_signature(checks.every_signature);
    let (mut frames, mut is_closed) = (Vec::<FrameStart>::new(), false);
    let damage = loop {
        match walk.next_step() {
            Step::Frame(frame) => frames.push(FrameStart {
                offset: frame.offset,
                time: frame.stored.header().time,
                tip: frame.tip,
            }),
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
    let (found, earlier) = match checks.begin(&header, heads, workspace) {
        Err(fault) => (FrameFindings::default(), Some(fault)),
        Ok(mut begun) => {
            let whole = fault.is_none().then_some(is_closed);
            let earlier = check_frames(bytes, &frames, &mut begun, whole).err();
            (begun.found(), earlier)
        }
    };
    let segment = CheckedSegment {
        number,
        header,
        file_bytes: bytes.len() as u64,
        frames: frames.len() as u64,
        signatures: signatures(is_closed, checks.every_signature, frames.len() as u64),
        first_time: frames.first().map(|frame| frame.time),
        head_hash: frames.last().map(|frame| frame.tip.hash),
        end,
        found,
    };
    (Some(segment), earlier.or(fault))
}

/// Checks the valid frames; of a whole segment, closed or not, also the rest behind them.
fn check_frames(
    bytes: &[u8],
    frames: &[FrameStart],
    checks: &mut SegmentChecks<'_>,
    whole: Option<bool>,
) -> Result<(), Fault> {
    for FrameStart { offset, tip, .. } in frames.iter().copied() {
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
        // It was read here before.
        let Some(stored) = rest.and_then(|rest| StoredFrame::parse(rest).ok()) else { break };
        checks.frame(&WalkedFrame { offset, stored, tip })?;
    }
    whole.map_or(Ok(()), |is_closed| checks.end(is_closed))
}

/// Returns the ledger that the first segment names.
fn ledger_of(bytes: &[u8]) -> LedgerId {
    SegmentHeader::parse(bytes).map_or(LedgerId([0; 16]), |header| header.ledger)
}

fn not_started(number: SegmentNumber, expect: &SegmentEnd, step: &HeaderStep) -> Fault {
    match step {
        HeaderStep::Torn(damage) => Fault::of_damage(shown(number), damage, true),
        HeaderStep::Corrupt(damage) => Fault::of_damage(shown(number), damage, false),
        HeaderStep::Unwritten => {
            let next = shown(number.next().unwrap_or(number));
            Fault::at(shown(number), 0, expect.next_position, None, FaultKind::Blank { next })
        }
    }
}

/// Returns the fault of a header without a frame. Both are one write: one without the other was torn.
fn no_frame(number: SegmentNumber, offset: u64, end: &SegmentEnd) -> Fault {
    let fault = Fault::at(shown(number), offset, end.next_position, None, FaultKind::NoFrame);
    Fault { torn: true, ..fault }
}
