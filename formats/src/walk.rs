//! The walk over one segment without any key, on which all later trust in its bytes rests.
//!
//! Opening a ledger and `verify` read through here. Each byte of a segment is under some check. Those of headers,
//! footers and frames are under a checksum and the chain hash. A signature is under the next link. All bytes after the
//! last of them must be zero.
//!
//! A complete check of the chain needs two comparisons more. The caller compares the first segment with the ledger's
//! signing keys, and each segment with the end of the one before ([`SegmentEnd`]).

mod end;
mod links;
mod pass;

use self::links::{Links, UnsignedFrame};
use crate::chain::ChainTip;
use crate::damage::{Damage, DamageKind, Tail, is_all_zeros};
use crate::footer::{FOOTER_BYTES, FOOTER_MAGIC, SegmentFooter};
use crate::frame::{FRAME_HEADER_BYTES, FRAME_MAGIC, FrameError, FrameHeader, StoredFrame, is_whole};
use crate::ids::{Micros, Position};
use crate::limits::MAX_SEGMENT_BYTES;
use crate::segment::SegmentHeader;

pub use self::end::SegmentEnd;
pub use self::pass::{PassStep, PassedSegment, SegmentPass};

/// The reason why a walk does not even start.
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

/// The thing at the next place of a segment.
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
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// The frame.
    pub stored: StoredFrame<'a>,
    /// The tip of the chain after it.
    pub tip: ChainTip,
}

/// A walk over the bytes of one segment file.
///
/// The next link covers a frame's signature, so only the last signature needs to be verified. This happens before
/// [`Step::Footer`], [`Step::End`] or [`Step::Torn`] is given out. Until then the frames are linked, but their writer
/// is not proven.
pub struct SegmentWalk<'a> {
    bytes: &'a [u8],
    links: Links,
    /// Set when there is no further step; it is repeated for ever.
    last_step: Option<Step<'a>>,
}

/// A check that failed at the current place.
struct FailedCheck {
    kind: DamageKind,
    last_position: Option<Position>,
    /// `true` if a torn write alone explains it.
    torn: bool,
}

impl From<DamageKind> for FailedCheck {
    fn from(kind: DamageKind) -> Self {
        Self { kind, last_position: None, torn: false }
    }
}

impl From<UnsignedFrame> for FailedCheck {
    fn from(UnsignedFrame { kind, last_position }: UnsignedFrame) -> Self {
        Self { last_position: Some(last_position), ..kind.into() }
    }
}

impl<'a> SegmentWalk<'a> {
    /// Checks the header and begins the walk after it.
    ///
    /// `bytes` is the whole file. `expect` is the end of the segment before, from which the header must go on; without
    /// it the header's word is taken. The caller must compare the header's signing key with the ledger's.
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
            .map_or(Ok(()), |end| end.check_header(&header))
            .and_then(|()| Ok(header.verify_certificate()?))
            .map_err(|kind| HeaderStep::Corrupt(damage(kind, first_position)))?;
        let links = Links::after(&header, expect.map_or(Micros(0), |end| end.time));
        Ok((Self { bytes, links, last_step: None }, header))
    }

    /// Verifies the signature of every frame, not only of the last one.
    #[must_use]
    pub fn every_signature(mut self, every: bool) -> Self {
        self.links.every_signature = every;
        self
    }

    /// Returns the place at which the next step looks, in bytes from the start of the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.links.offset as u64
    }

    /// Returns the segment's end after the steps so far, with which the next segment goes on.
    #[must_use]
    pub fn end(&self) -> &SegmentEnd {
        &self.links.end
    }

    /// Returns the next frame, or the segment's end; that end is repeated for ever.
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

    fn read_step(&mut self) -> Result<Step<'a>, FailedCheck> {
        let rest = self.rest();
        if rest.starts_with(&FRAME_MAGIC) {
            self.read_frame(rest).map(Step::Frame)
        } else if rest.starts_with(&FOOTER_MAGIC) {
            self.read_footer(rest).map(Step::Footer)
        } else if is_all_zeros(rest) {
            Ok(self.links.verify_last_signature().map(|()| Step::End)?)
        } else {
            let truncated =
                FrameError::Truncated { needed: FRAME_HEADER_BYTES as u64, found: rest.len() as u64 };
            let error = rest.first_chunk().map_or(truncated, |found| FrameError::Magic { found: *found });
            Err(Self::fault(error.into(), rest, None))
        }
    }

    fn read_frame(&mut self, rest: &'a [u8]) -> Result<WalkedFrame<'a>, FailedCheck> {
        let stored = StoredFrame::parse(rest).map_err(|error| {
            let torn = !is_whole(rest);
            let fault = self.unread_frame(error, rest);
            FailedCheck { torn: torn && fault.torn, ..fault }
        })?;
        let header = stored.header();
        let links = &mut self.links;
        let offset = links.offset as u64;
        let tip = match stored.link(&links.end.tip) {
            Ok(tip) => tip,
            Err(error) => return Err(self.unread_frame(error, rest)),
        };
        links
            .check_next(header)
            .map_err(|kind| FailedCheck { last_position: Some(header.last_position()), ..kind.into() })?;
        links.take(header, tip)?;
        Ok(WalkedFrame { offset, stored, tip })
    }

    /// A frame whose bytes do not hold.
    fn unread_frame(&self, error: FrameError, rest: &[u8]) -> FailedCheck {
        let header = FrameHeader::parse(rest).ok();
        let ours = header.filter(|header| header.first_position == self.links.end.next_position);
        // Magic, number and previous hash lie on both sides of the length: with them in order, so is the length.
        let beyond_doubt = ours.filter(|header| self.links.check_next(header).is_ok());
        let fault = Self::fault(error.into(), rest, beyond_doubt.map(|header| header.stored_bytes()));
        FailedCheck { last_position: ours.map(|header| header.last_position()), ..fault }
    }

    fn fault(kind: DamageKind, rest: &[u8], ends: Option<usize>) -> FailedCheck {
        let torn = kind.may_be_torn() && Tail::new(rest).is_torn_frame(ends);
        FailedCheck { kind, last_position: None, torn }
    }

    fn read_footer(&mut self, rest: &'a [u8]) -> Result<SegmentFooter, FailedCheck> {
        let footer = SegmentFooter::parse(rest)
            .map_err(|error| Self::fault(error.into(), rest, Some(FOOTER_BYTES)))?;
        self.links.take_footer(&footer)?;
        if let Some((zeros, found)) = first_written(self.rest()) {
            self.links.offset += zeros;
            return Err(DamageKind::AfterFooter { found }.into());
        }
        Ok(footer)
    }

    fn damaged(&mut self, fault: &FailedCheck) -> Step<'a> {
        // The frame before comes first if it, too, is not what it should be.
        let earlier = self.links.verify_last_signature().err().map(FailedCheck::from);
        let fault = earlier.as_ref().unwrap_or(fault);
        let first_position = self.links.end.next_position;
        let damage = Damage {
            offset: self.links.offset as u64,
            first_position,
            // A frame that repeats earlier positions says nothing about how far the damage goes.
            last_position: fault.last_position.filter(|last| *last >= first_position),
            kind: fault.kind,
        };
        if fault.torn { Step::Torn(damage) } else { Step::Corrupt(damage) }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.links.offset..).unwrap_or_default()
    }
}

fn ensure(holds: bool, otherwise: DamageKind) -> Result<(), DamageKind> {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// Time never goes back.
fn ensure_time(before: Micros, found: Micros) -> Result<(), DamageKind> {
    let (expected, found) = (before.0, found.0);
    ensure(expected <= found, DamageKind::Time { what: "a frame time not before", expected, found })
}

/// Returns the first byte that is not zero, and the number of zeros before it.
fn first_written(bytes: &[u8]) -> Option<(usize, u8)> {
    if is_all_zeros(bytes) { None } else { bytes.iter().copied().enumerate().find(|(_, byte)| *byte != 0) }
}

#[cfg(test)]
mod tests;
