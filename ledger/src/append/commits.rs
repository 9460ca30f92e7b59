//! The steps that the sequencer gives to the committer.

use std::sync::Arc;

use bitacora_formats::{Commitment, Frontier, Position, SegmentEnd, StreamKey, TreeHash};

use crate::receipt::Head;
use crate::segment_preallocator::BlankSegment;
use crate::segments::Segment;
use crate::stream_tips::Tip;
use crate::submission::messages::RequestAnswer;

/// One step for the committer; while it works on one, one more may wait.
pub(crate) enum Commit {
    /// Write and sync a frame, then publish it.
    Frame(Box<FrameCommit>),
    /// Everything before is durable: give these answers.
    Answers(Vec<RequestAnswer>),
    /// Write the footer, sync it, trim the file.
    EndSegment(Box<EndedSegment>),
}

/// A sealed frame and what becomes visible once it is durable.
pub(crate) struct FrameCommit {
    /// The blank file, where this frame is the first of its segment; its bytes then begin with the segment's header.
    pub(crate) begins: Option<BlankSegment>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) offset: u64,
    pub(crate) segment: Arc<Segment>,
    /// The offset of the frame itself within the segment.
    pub(crate) frame_offset: u64,
    pub(crate) first: Position,
    pub(crate) count: u32,
    /// One for each event, in order.
    pub(crate) commitments: Vec<Commitment>,
    /// The tree hashes that the frame's leaves completed, and the tree after them.
    pub(crate) groups: Vec<TreeHash>,
    pub(crate) tree: Frontier,
    pub(crate) body: Arc<Vec<u8>>,
    pub(crate) tips: Vec<(StreamKey, Tip)>,
    pub(crate) head: Head,
    pub(crate) answers: Vec<RequestAnswer>,
}

/// The end of a segment: its footer, where that goes, and what is known after it.
pub(crate) struct EndedSegment {
    pub(crate) footer: Vec<u8>,
    pub(crate) offset: u64,
    pub(crate) end: SegmentEnd,
    pub(crate) frontier: Frontier,
}
