//! Damage to a segment: its place, its kind, and whether a torn write alone explains it.

use std::fmt;

use crate::footer::{FOOTER_MAGIC, FooterError};
use crate::frame::{FRAME_MAGIC, FrameError, FrameHeader};
use crate::ids::{ChainHash, Epoch, Generation, LedgerId, Position, SegmentNumber, TreeHash};
use crate::limits::{MAX_FRAME_BYTES, MAX_SEGMENT_BYTES};
use crate::segment::{MAX_SEGMENT_HEADER_BYTES, SEGMENT_MAGIC, SegmentError};

/// Damage to the bytes of a segment at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The offset of the damaged thing, in bytes from the start of the file.
    pub offset: u64,
    /// The first position that the damage may touch.
    pub first_position: Position,
    /// The last one, where it is known; else everything from the first on may be touched.
    pub last_position: Option<Position>,
    /// The kind of damage, with expected and found values.
    pub kind: DamageKind,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, first_position, last_position, kind } = self;
        match last_position {
            Some(last) if last == first_position => write!(f, "byte {offset}, position {last}: {kind}"),
            Some(last) => write!(f, "byte {offset}, positions {first_position} to {last}: {kind}"),
            None => write!(f, "byte {offset}, positions from {first_position}: {kind}"),
        }
    }
}

/// The check that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The segment's header cannot be read, or its certificate does not hold.
    #[error(transparent)]
    Header(#[from] SegmentError),
    /// A frame cannot be read.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A footer cannot be read.
    #[error(transparent)]
    Footer(#[from] FooterError),
    /// The file is larger than any segment.
    #[error("found a segment of {found} bytes, expected at most {MAX_SEGMENT_BYTES}")]
    SegmentBytes {
        /// Bytes of the file.
        found: u64,
    },
    /// The segment is of another ledger.
    #[error("found ledger {found}, expected {expected}")]
    Ledger {
        /// This ledger.
        expected: LedgerId,
        /// The one that the header names.
        found: LedgerId,
    },
    /// The ledger's generation goes back.
    #[error("found generation {found}, expected {expected} or later")]
    Generation {
        /// The generation of the segment before.
        expected: Generation,
        /// The one that the header names.
        found: Generation,
    },
    /// The ledger's epoch goes back.
    #[error("found epoch {found}, expected {expected} or later")]
    Epoch {
        /// The epoch of the segment before.
        expected: Epoch,
        /// The one that the header names.
        found: Epoch,
    },
    /// The segment is not the next one.
    #[error("found segment {found}, expected the one after {after}")]
    SegmentNumber {
        /// The number of the segment before.
        after: SegmentNumber,
        /// The one that the header names.
        found: SegmentNumber,
    },
    /// The frame is not the next one of its segment.
    #[error("found frame number {found}, expected {expected}")]
    FrameNumber {
        /// The next frame's number.
        expected: u64,
        /// The one that the header names.
        found: u64,
    },
    /// The footer counts other frames than there are.
    #[error("found a footer over {found} frames, expected {expected}")]
    FrameCount {
        /// The number of frames.
        expected: u64,
        /// The number that the footer names.
        found: u64,
    },
    /// The first position is not the next one.
    #[error("found first position {found}, expected {expected}")]
    FirstPosition {
        /// The next position.
        expected: Position,
        /// The one that is named.
        found: Position,
    },
    /// The footer names another last position.
    #[error("found last position {found}, expected {expected}")]
    LastPosition {
        /// The last position.
        expected: u64,
        /// The one that the footer names.
        found: Position,
    },
    /// The link before is another.
    #[error("found previous chain hash {found}, expected {expected}")]
    PreviousHash {
        /// The chain hash before this place.
        expected: ChainHash,
        /// The one that is named.
        found: ChainHash,
    },
    /// The signature of the link before is another.
    #[error("found another over the same chain hash, expected the signature of the segment before")]
    PreviousSignature,
    /// The signature over the chain hash does not hold under the segment's key.
    #[error("found another, expected a signature of the segment's key over chain hash {hash}")]
    Signature {
        /// The chain hash that should be signed.
        hash: ChainHash,
    },
    /// The tree does not grow by the count of events.
    #[error("found tree size {found}, expected {expected}")]
    TreeSize {
        /// The size of the tree before, and the count.
        expected: u64,
        /// The one that is named.
        found: u64,
    },
    /// The root of the tree is another.
    #[error("found tree root {found}, expected {expected}")]
    TreeRoot {
        /// The root of the tree before this place.
        expected: TreeHash,
        /// The one that is named, or that the frontier makes.
        found: TreeHash,
    },
    /// Time goes back, or the footer names other times.
    #[error("found {what} of {found} microseconds since 1970, expected {expected}")]
    Time {
        /// The time's name.
        what: &'static str,
        /// The time it must be, or must not lie before.
        expected: u64,
        /// The one that is named.
        found: u64,
    },
    /// Something follows the footer.
    #[error("zeros to the end of the file expected after the footer, {found:02x} found")]
    AfterFooter {
        /// The first byte that is not zero.
        found: u8,
    },
}

impl DamageKind {
    /// Returns `true` if a write that was cut short can look like this.
    ///
    /// Bytes that pass their checksum were written whole. A later version's format is not for this version to judge.
    pub(crate) fn may_be_torn(&self) -> bool {
        match self {
            Self::Header(error) => match error {
                SegmentError::Format { found } => *found == 0,
                SegmentError::Magic { .. }
                | SegmentError::Truncated { .. }
                | SegmentError::HeaderBytes { .. }
                | SegmentError::Crc { .. } => true,
                _ => false,
            },
            Self::Frame(error) => !matches!(error, FrameError::Format { found } if *found != 0),
            Self::Footer(error) => match error {
                FooterError::Format { found } => *found == 0,
                FooterError::Magic { .. } | FooterError::Truncated { .. } | FooterError::Crc { .. } => true,
                _ => false,
            },
            _ => false,
        }
    }
}

/// The rest of a file from a damaged place on: one write that was cut short, or more.
pub(crate) struct Tail<'a> {
    bytes: &'a [u8],
    /// Bytes up to and with the last one that is not zero.
    written_bytes: usize,
}

impl<'a> Tail<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, written_bytes: written_bytes(bytes) }
    }

    /// Returns `true` if this can be one frame or footer, torn: nothing of a later one is in it.
    ///
    /// `ends` is the end of the damaged thing, if that is beyond doubt. A later frame counts by its header alone.
    /// Frame N+1 is only written after frame N has been synced. A single header of it therefore proves that N was
    /// whole once, whatever has become of the rest of N+1.
    pub(crate) fn is_torn_frame(&self, ends: Option<usize>) -> bool {
        let most_bytes = ends.unwrap_or(MAX_FRAME_BYTES).min(MAX_FRAME_BYTES);
        self.written_bytes <= most_bytes && self.followers().next().is_none()
    }

    /// Returns `true` if this can be a segment's header and first frame, torn.
    ///
    /// They are one write, so the frame may be whole although the header is not.
    pub(crate) fn is_torn_start(&self) -> bool {
        let mut followers = self.followers();
        self.written_bytes <= MAX_SEGMENT_HEADER_BYTES + MAX_FRAME_BYTES
            && followers.next().is_none_or(|follower| matches!(follower, ValidFollower::Frame(1)))
            && followers.next().is_none()
    }

    /// Everything after the first byte that begins like a frame, a footer or a segment.
    fn followers(&self) -> impl Iterator<Item = ValidFollower> + 'a {
        let bytes = self.bytes;
        // All three magics begin with these letters.
        let starts = bytes.windows(3).take(self.written_bytes).enumerate().skip(1);
        starts
            .filter(|(_, letters)| *letters == b"BIT")
            .filter_map(move |(offset, _)| ValidFollower::at(bytes.split_at(offset).1))
    }
}

/// A valid thing after a damaged place, which shows that the damage is no torn write.
enum ValidFollower {
    /// A frame's header, with the frame's number.
    Frame(u64),
    /// A footer's or a segment's first bytes.
    Other,
}

impl ValidFollower {
    fn at(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&FRAME_MAGIC) {
            FrameHeader::parse(bytes).ok().map(|header| Self::Frame(header.number))
        } else {
            (bytes.starts_with(&FOOTER_MAGIC) || bytes.starts_with(&SEGMENT_MAGIC)).then_some(Self::Other)
        }
    }
}

/// Bytes compared at a time: enough for the compiler to use wide registers.
const BLOCK_BYTES: usize = 256;

/// Returns `true` if all bytes are zero, as in a part of a segment that was never written.
#[must_use]
pub fn is_all_zeros(bytes: &[u8]) -> bool {
    bytes.chunks(BLOCK_BYTES).all(is_zero_block)
}

fn written_bytes(bytes: &[u8]) -> usize {
    let mut written = bytes;
    while let Some((rest, block)) = written.split_last_chunk::<BLOCK_BYTES>() {
        if !is_zero_block(block) {
            break;
        }
        written = rest;
    }
    written.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

fn is_zero_block(block: &[u8]) -> bool {
    block.iter().fold(0, |seen, byte| seen | byte) == 0
}
