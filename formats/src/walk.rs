//! The walk over one segment, without any key: what every later trust in its bytes rests on.
//!
//! Opening a ledger and `verify` read through here. Each byte of a segment is under some check: a header's and a footer's
//! and a frame's under checksum and chain hash, a signature's under the next link, everything after the last of them must
//! be zero. Whoever compares the first segment with the ledger's signing keys and each one with the end of the one before
//! ([`SegmentEnd`]) has checked the whole chain.

use crate::chain::{ChainTip, genesis_tip};
use crate::damage::{Damage, DamageKind, Tail, is_all_zeros};
use crate::footer::{FOOTER_BYTES, FOOTER_MAGIC, SegmentFooter};
use crate::frame::{FRAME_HEADER_BYTES, FRAME_MAGIC, FrameError, FrameHeader, StoredFrame, is_whole};
use crate::ids::{Epoch, Generation, LedgerId, Micros, Position, SegmentNumber, TreeHash};
use crate::limits::MAX_SEGMENT_BYTES;
use crate::segment::SegmentHeader;
use crate::tree::Frontier;

/// What the next segment must go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The ledger.
    pub ledger: LedgerId,
    /// Its generation.
    pub generation: Generation,
    /// The opening that wrote the segment.
    pub epoch: Epoch,
    /// The segment's number.
    pub number: SegmentNumber,
    /// The first position after it.
    pub next_position: Position,
    /// The time of its last frame.
    pub time: Micros,
    /// The size of the tree after it.
    pub tree_size: u64,
    /// The root of the tree after it.
    pub tree_root: TreeHash,
    /// The tip of the chain after it.
    pub tip: ChainTip,
}

impl SegmentEnd {
    /// What the first segment of a ledger goes on with.
    #[must_use]
    pub fn before_first(ledger: LedgerId) -> Self {
        Self {
            ledger,
            generation: Generation::FIRST,
            epoch: Epoch::FIRST,
            number: SegmentNumber(0),
            next_position: Position::FIRST,
            time: Micros(0),
            tree_size: 0,
            tree_root: Frontier::new().root(),
            tip: genesis_tip(),
        }
    }

    /// Whether the header goes on from here.
    fn check_next(&self, header: &SegmentHeader) -> Result<(), DamageKind> {
        let (expected, found) = (self.ledger, header.ledger);
        ensure(expected == found, DamageKind::Ledger { expected, found })?;
        let (expected, found) = (self.generation, header.generation);
        ensure(expected <= found, DamageKind::Generation { expected, found })?;
        let (expected, found) = (self.epoch, header.epoch);
        ensure(expected <= found, DamageKind::Epoch { expected, found })?;
        let (after, found) = (self.number, header.number);
        ensure(after.next() == Some(found), DamageKind::SegmentNumber { after, found })?;
        let (expected, found) = (self.next_position, header.first_position);
        ensure(expected == found, DamageKind::FirstPosition { expected, found })?;
        let (expected, found) = (self.tip.hash, header.previous.hash);
        ensure(expected == found, DamageKind::PreviousHash { expected, found })?;
        ensure(self.tip == header.previous, DamageKind::PreviousSignature)?;
        let (expected, found) = (self.tree_size, header.frontier.size());
        ensure(expected == found, DamageKind::TreeSize { expected, found })?;
        let (expected, found) = (self.tree_root, header.frontier.root());
        ensure(expected == found, DamageKind::TreeRoot { expected, found })
    }
}

/// Why a walk does not even start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderStep {
    /// Only zeros: made ahead and never used, or nothing of its first write has reached the disk.
    #[error("the segment was never written")]
    Unwritten,
    /// A damaged first write: header and first frame, which nothing follows.
    #[error("{0}")]
    Torn(Damage),
    /// Damage that no torn write explains.
    #[error("{0}")]
    Corrupt(Damage),
}

/// What lies at the next place of a segment.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// A frame that is linked to all before it.
    Frame(WalkedFrame<'a>),
    /// The footer, with nothing after it. The next step is the end.
    Footer(SegmentFooter),
    /// Only zeros to the end of the file. Without a footer before, the segment is live or its writer has died.
    End,
    /// One damaged frame or footer that nothing follows: a write that was cut short, or rot in the very last one.
    Torn(Damage),
    /// Damage that no torn write explains.
    Corrupt(Damage),
}

/// A frame on the walk.
#[derive(Debug, Clone, Copy)]
pub struct WalkedFrame<'a> {
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// The frame.
    pub stored: StoredFrame<'a>,
    /// The tip of the chain after it.
    pub tip: ChainTip,
}

/// Walks over the bytes of one segment file.
///
/// Signatures: a frame's is covered by the next link, so that only the last one needs to be verified; this happens before
/// [`Step::Footer`], [`Step::End`] or [`Step::Torn`] is given out. Until then the frames are linked, but who wrote them is
/// not proven.
pub struct SegmentWalk<'a> {
    bytes: &'a [u8],
    offset: usize,
    ephemeral_public: [u8; 32],
    every_signature: bool,
    first_position: Position,
    first_time: Option<Micros>,
    frames: u64,
    end: SegmentEnd,
    /// The last frame, while its signature is not verified.
    unproven: Option<LastFrame>,
    /// Set when there is no further step; it is repeated for ever.
    last_step: Option<Step<'a>>,
}

#[derive(Clone, Copy)]
struct LastFrame {
    offset: usize,
    last_position: Position,
    before: SegmentEnd,
}

/// A check that failed at the current place.
struct Fault {
    kind: DamageKind,
    last_position: Option<Position>,
    /// Whether a torn write alone explains it.
    torn: bool,
}

impl From<DamageKind> for Fault {
    fn from(kind: DamageKind) -> Self {
        Self { kind, last_position: None, torn: false }
    }
}

impl<'a> SegmentWalk<'a> {
    /// Checks the header and begins the walk after it.
    ///
    /// `bytes` is the whole file. `expect` is the end of the segment before, which the header must go on from; without it
    /// the header's word is taken. Whether the header's signing key is the ledger's is for the caller to compare.
    ///
    /// # Errors
    /// A [`HeaderStep`] if there is no header to begin with.
    pub fn start(bytes: &'a [u8], expect: Option<&SegmentEnd>) -> Result<(Self, SegmentHeader), HeaderStep> {
        let damage = |kind, first_position| Damage { offset: 0, first_position, last_position: None, kind };
        let first_position = expect.map_or(Position::FIRST, |end| end.next_position);
        if bytes.len() > MAX_SEGMENT_BYTES {
            let kind = DamageKind::SegmentBytes { found: bytes.len() as u64 };
            return Err(HeaderStep::Corrupt(damage(kind, first_position)));
        }
        let header = match SegmentHeader::parse(bytes).map_err(DamageKind::from) {
            Ok(header) => header,
            Err(_) if is_all_zeros(bytes) => return Err(HeaderStep::Unwritten),
            Err(kind) if kind.may_be_torn() && Tail::new(bytes).is_torn_start() => {
                return Err(HeaderStep::Torn(damage(kind, first_position)));
            }
            Err(kind) => return Err(HeaderStep::Corrupt(damage(kind, first_position))),
        };
        let first_position = expect.map_or(header.first_position, |end| end.next_position);
        expect
            .map_or(Ok(()), |end| end.check_next(&header))
            .and_then(|()| Ok(header.verify_certificate()?))
            .map_err(|kind| HeaderStep::Corrupt(damage(kind, first_position)))?;
        Ok((Self::after(bytes, &header, expect.map_or(Micros(0), |end| end.time)), header))
    }

    fn after(bytes: &'a [u8], header: &SegmentHeader, time: Micros) -> Self {
        Self {
            bytes,
            offset: header.stored_bytes(),
            ephemeral_public: header.ephemeral_public,
            every_signature: false,
            first_position: header.first_position,
            first_time: None,
            frames: 0,
            end: SegmentEnd {
                ledger: header.ledger,
                generation: header.generation,
                epoch: header.epoch,
                number: header.number,
                next_position: header.first_position,
                time,
                tree_size: header.frontier.size(),
                tree_root: header.frontier.root(),
                tip: header.tip(),
            },
            unproven: None,
            last_step: None,
        }
    }

    /// Verifies the signature of every frame, not only of the last one.
    #[must_use]
    pub fn every_signature(mut self, every: bool) -> Self {
        self.every_signature = every;
        self
    }

    /// Where the next step looks, in bytes from the start of the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// What the next segment goes on with, after the steps so far.
    #[must_use]
    pub fn end(&self) -> &SegmentEnd {
        &self.end
    }

    /// The next frame, or how the segment ends; that is repeated for ever.
    pub fn next_step(&mut self) -> Step<'a> {
        if let Some(step) = self.last_step {
            return step;
        }
        let step = self.read_step().unwrap_or_else(|fault| self.damaged(&fault));
        self.last_step = match step {
            Step::Frame(_) | Step::Footer(_) => None,
            Step::End | Step::Torn(_) | Step::Corrupt(_) => Some(step),
        };
        step
    }

    fn read_step(&mut self) -> Result<Step<'a>, Fault> {
        let rest = self.rest();
        if rest.starts_with(&FRAME_MAGIC) {
            self.read_frame(rest).map(Step::Frame)
        } else if rest.starts_with(&FOOTER_MAGIC) {
            self.read_footer(rest).map(Step::Footer)
        } else if is_all_zeros(rest) {
            self.verify_last_signature().map(|()| Step::End)
        } else {
            let truncated =
                FrameError::Truncated { needed: FRAME_HEADER_BYTES as u64, found: rest.len() as u64 };
            let error = rest.first_chunk().map_or(truncated, |found| FrameError::Magic { found: *found });
            Err(Self::fault(error.into(), rest, None))
        }
    }

    fn read_frame(&mut self, rest: &'a [u8]) -> Result<WalkedFrame<'a>, Fault> {
        let stored = StoredFrame::parse(rest).map_err(|error| {
            let torn = !is_whole(rest);
            let fault = self.unread_frame(error, rest);
            Fault { torn: torn && fault.torn, ..fault }
        })?;
        let header = stored.header();
        let tip = stored.link(&self.end.tip).map_err(|error| self.unread_frame(error, rest))?;
        self.check_next(header)
            .map_err(|kind| Fault { last_position: Some(header.last_position()), ..kind.into() })?;

        let last = LastFrame { offset: self.offset, last_position: header.last_position(), before: self.end };
        let walked = WalkedFrame { offset: self.offset as u64, stored, tip };
        self.offset += header.stored_bytes();
        self.frames += 1;
        self.first_time.get_or_insert(header.time);
        self.unproven = Some(last);
        self.end = SegmentEnd {
            // `FrameHeader::check` has seen that this position exists.
            next_position: header.last_position().next().unwrap_or(self.end.next_position),
            time: header.time,
            tree_size: header.tree_size,
            tree_root: header.tree_root,
            tip,
            ..self.end
        };
        if self.every_signature {
            self.verify_last_signature()?;
        }
        Ok(walked)
    }

    /// A frame whose bytes do not hold.
    fn unread_frame(&self, error: FrameError, rest: &[u8]) -> Fault {
        let header = FrameHeader::parse(rest).ok();
        let ours = header.filter(|header| header.first_position == self.end.next_position);
        // Magic, number and previous hash lie on both sides of the length: with them in order, so is the length.
        let beyond_doubt = ours.filter(|header| self.check_next(header).is_ok());
        let fault = Self::fault(error.into(), rest, beyond_doubt.map(|header| header.stored_bytes()));
        Fault { last_position: ours.map(|header| header.last_position()), ..fault }
    }

    fn fault(kind: DamageKind, rest: &[u8], ends: Option<usize>) -> Fault {
        let torn = kind.may_be_torn() && Tail::new(rest).is_torn_frame(ends);
        Fault { kind, last_position: None, torn }
    }

    /// Whether the frame goes on from the one before.
    fn check_next(&self, header: &FrameHeader) -> Result<(), DamageKind> {
        let (expected, found) = (self.frames + 1, header.number);
        ensure(expected == found, DamageKind::FrameNumber { expected, found })?;
        let (expected, found) = (self.end.next_position, header.first_position);
        ensure(expected == found, DamageKind::FirstPosition { expected, found })?;
        let (expected, found) = (self.end.tip.hash, header.previous);
        ensure(expected == found, DamageKind::PreviousHash { expected, found })?;
        let (expected, found) = (self.end.tree_size.saturating_add(header.count.into()), header.tree_size);
        ensure(expected == found, DamageKind::TreeSize { expected, found })?;
        let (expected, found) = (self.end.time.0, header.time.0);
        ensure(expected <= found, DamageKind::Time { what: "a frame time not before", expected, found })
    }

    fn read_footer(&mut self, rest: &'a [u8]) -> Result<SegmentFooter, Fault> {
        let footer = SegmentFooter::parse(rest)
            .map_err(|error| Self::fault(error.into(), rest, Some(FOOTER_BYTES)))?;
        self.check_footer(&footer)?;
        let tip = ChainTip { hash: footer.hash_after(&self.end.tip), signature: footer.signature };
        ensure(tip.is_signed_by(&self.ephemeral_public), DamageKind::Signature { hash: tip.hash })?;
        // The footer's signature covers the chain hash, which covers the last frame's signature.
        self.unproven = None;
        self.offset += FOOTER_BYTES;
        self.end.tip = tip;
        if let Some((zeros, found)) = first_written(self.rest()) {
            self.offset += zeros;
            return Err(DamageKind::AfterFooter { found }.into());
        }
        Ok(footer)
    }

    fn check_footer(&self, footer: &SegmentFooter) -> Result<(), DamageKind> {
        let (expected, found) = (self.frames, u64::from(footer.frames));
        ensure(expected == found, DamageKind::FrameCount { expected, found })?;
        let (expected, found) = (self.first_position, footer.first_position);
        ensure(expected == found, DamageKind::FirstPosition { expected, found })?;
        let (expected, found) = (self.end.next_position.get() - 1, footer.last_position);
        ensure(expected == found.get(), DamageKind::LastPosition { expected, found })?;
        let (expected, found) = (self.end.tip.hash, footer.previous);
        ensure(expected == found, DamageKind::PreviousHash { expected, found })?;
        let (expected, found) = (self.end.tree_size, footer.tree_size);
        ensure(expected == found, DamageKind::TreeSize { expected, found })?;
        let (expected, found) = (self.end.tree_root, footer.tree_root);
        ensure(expected == found, DamageKind::TreeRoot { expected, found })?;
        let (expected, found) = (self.first_time.map_or(0, |time| time.0), footer.first_time.0);
        ensure(expected == found, DamageKind::Time { what: "a first time", expected, found })?;
        let (expected, found) = (self.end.time.0, footer.last_time.0);
        ensure(expected == found, DamageKind::Time { what: "a last time", expected, found })
    }

    /// Verifies the last frame's signature; afterwards everything up to it is proven to be the segment's own.
    fn verify_last_signature(&mut self) -> Result<(), Fault> {
        let Some(last) = self.unproven.take() else { return Ok(()) };
        let tip = self.end.tip;
        if tip.is_signed_by(&self.ephemeral_public) {
            return Ok(());
        }
        self.offset = last.offset;
        self.frames -= 1;
        self.end = last.before;
        Err(Fault {
            last_position: Some(last.last_position),
            ..DamageKind::Signature { hash: tip.hash }.into()
        })
    }

    fn damaged(&mut self, fault: &Fault) -> Step<'a> {
        // The frame before comes first if it, too, is not what it should be.
        let earlier = self.verify_last_signature().err();
        let fault = earlier.as_ref().unwrap_or(fault);
        let first_position = self.end.next_position;
        let damage = Damage {
            offset: self.offset as u64,
            first_position,
            // A frame that repeats earlier positions says nothing about how far the damage goes.
            last_position: fault.last_position.filter(|last| *last >= first_position),
            kind: fault.kind,
        };
        if fault.torn { Step::Torn(damage) } else { Step::Corrupt(damage) }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }
}

fn ensure(holds: bool, otherwise: DamageKind) -> Result<(), DamageKind> {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// The first byte that is not zero, and how many zeros lie before it.
fn first_written(bytes: &[u8]) -> Option<(usize, u8)> {
    if is_all_zeros(bytes) { None } else { bytes.iter().copied().enumerate().find(|(_, byte)| *byte != 0) }
}

#[cfg(test)]
mod tests;
