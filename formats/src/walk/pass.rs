//! The pass over one segment without the ones before it, to check many segments side by side.

use super::links::Links;
use super::{SegmentEnd, WalkedFrame};
use crate::footer::{FOOTER_MAGIC, FooterError, SegmentFooter};
use crate::frame::{FRAME_MAGIC, FrameError, StoredFrame};
use crate::ids::Micros;
use crate::limits::MAX_SEGMENT_BYTES;
use crate::segment::SegmentHeader;

/// A walk that is given the segment piece by piece and knows only "all of it holds" and "something does not".
///
/// Its checks are those of [`SegmentWalk`](super::SegmentWalk), which reports the damage of a segment that does not
/// pass. A segment that passes holds in its ledger if it goes on from the end of the one before
/// ([`SegmentEnd::check_next`]).
pub struct SegmentPass {
    links: Links,
    /// After the footer there is no further frame.
    is_closed: bool,
}

/// The thing at the next place of a segment that passes.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "nobody keeps a step, and a box for each frame would cost more"
)]
pub enum PassStep<'a> {
    /// A frame that is linked to all before it.
    Frame(WalkedFrame<'a>),
    /// So many bytes must be there, from the same place on; a segment that has no more has nothing written here.
    More {
        /// Bytes, counted from [`SegmentPass::offset`].
        needed: usize,
    },
    /// The last frame and the footer are behind: every byte from here on must be zero.
    Zeros,
    /// A check failed.
    Doubt,
}

/// The result of a segment that has passed.
#[derive(Debug, Clone, Copy)]
pub struct PassedSegment {
    /// The end with which the next segment must go on.
    pub end: SegmentEnd,
    /// The time of the first frame.
    pub first_time: Micros,
    /// The number of frames: at least one.
    pub frames: u64,
    /// `true` if it has a footer, behind which nothing is ever written.
    pub is_closed: bool,
}

impl SegmentPass {
    /// Begins after a header whose certificate holds; `bytes` must hold the whole header.
    ///
    /// The caller must compare the header's signing key with the ledger's. `None` is doubt.
    #[must_use]
    pub fn start(bytes: &[u8], every_signature: bool) -> Option<(Self, SegmentHeader)> {
        let header = SegmentHeader::parse(bytes).ok()?;
        header.verify_certificate().ok()?;
        let mut links = Links::after(&header, Micros(0));
        links.every_signature = every_signature;
        Some((Self { links, is_closed: false }, header))
    }

    /// Returns the place at which the next step looks, in bytes from the start of the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.links.offset as u64
    }

    /// Looks at the next place; `window` begins there and may end anywhere.
    pub fn step<'a>(&mut self, window: &'a [u8]) -> PassStep<'a> {
        let Some(magic) = window.first_chunk() else {
            return PassStep::More { needed: FRAME_MAGIC.len() };
        };
        if self.is_closed {
            PassStep::Zeros
        } else if *magic == FRAME_MAGIC {
            self.frame(window)
        } else if FOOTER_MAGIC.starts_with(magic) {
            self.footer(window)
        } else {
            PassStep::Zeros
        }
    }

    fn frame<'a>(&mut self, window: &'a [u8]) -> PassStep<'a> {
        let stored = match StoredFrame::parse(window) {
            Ok(stored) => stored,
            Err(FrameError::Truncated { needed, .. }) => return more(needed),
            Err(_) => return PassStep::Doubt,
        };
        let (offset, header) = (self.offset(), stored.header());
        let links = &mut self.links;
        if links.check_next(header).is_err() {
            return PassStep::Doubt;
        }
        let tip = stored.link(&links.end.tip).ok().filter(|tip| links.take(header, *tip).is_ok());
        tip.map_or(PassStep::Doubt, |tip| PassStep::Frame(WalkedFrame { offset, stored, tip }))
    }

    fn footer<'a>(&mut self, window: &[u8]) -> PassStep<'a> {
        match SegmentFooter::parse(window) {
            Ok(footer) if self.links.take_footer(&footer).is_ok() => {
                self.is_closed = true;
                PassStep::Zeros
            }
            Err(FooterError::Truncated { needed, .. }) => more(needed),
            Ok(_) | Err(_) => PassStep::Doubt,
        }
    }

    /// Returns the result of the pass over a file of `file_bytes`; `None` is doubt.
    ///
    /// The caller must have seen that every byte from [`Self::offset`] on is zero. Doubt is: no frame, a last frame
    /// that the segment's key has not signed, or a file larger than any segment.
    #[must_use]
    pub fn finish(mut self, file_bytes: u64) -> Option<PassedSegment> {
        if file_bytes > MAX_SEGMENT_BYTES as u64 {
            return None;
        }
        self.links.verify_last_signature().ok()?;
        Some(PassedSegment {
            end: self.links.end,
            first_time: self.links.first_time()?,
            frames: self.links.frames(),
            is_closed: self.is_closed,
        })
    }
}

fn more<'a>(needed: u64) -> PassStep<'a> {
    usize::try_from(needed).map_or(PassStep::Doubt, |needed| PassStep::More { needed })
}
