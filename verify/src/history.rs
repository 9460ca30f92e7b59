//! The chain hashes at earlier positions, which events of later segments name.

use bitacora_formats::{ChainHash, FrameHeader, Position, SegmentHeader, SegmentNumber};

use super::folder::LedgerFolder;

/// The checked segments, by their positions.
pub(super) struct History<'a> {
    folder: &'a LedgerFolder<'a>,
    segments: Vec<PastSegment>,
}

/// The position and chain of a checked segment.
pub(super) struct PastSegment {
    pub(super) number: SegmentNumber,
    pub(super) first_position: Position,
    pub(super) next_position: Position,
    /// The chain hash after its last frame.
    pub(super) last_hash: Option<ChainHash>,
}

impl<'a> History<'a> {
    pub(super) fn new(folder: &'a LedgerFolder<'a>) -> Self {
        Self { folder, segments: Vec::new() }
    }

    pub(super) fn add(&mut self, segment: PastSegment) {
        self.segments.push(segment);
    }

    /// Returns the chain hash before the frame that begins at this position, in a checked segment; `None` if none
    /// begins there, or it cannot be read any more.
    pub(super) fn hash_before(&self, position: Position) -> Option<ChainHash> {
        let behind = self.segments.partition_point(|past| past.first_position <= position);
        let past = self.segments.get(behind.checked_sub(1)?).filter(|past| position < past.next_position)?;
        let bytes = self.folder.load(past.number).ok()?;
        let header = SegmentHeader::parse(&bytes).ok()?;
        if position == header.first_position {
            return Some(header.tip().hash);
        }
        self.hash_at(Position::new(position.get() - 1)?)
    }

    /// Returns the chain hash after the frame that ends at this position; `None` if none does, or it cannot be read any
    /// more.
    ///
    /// Most often it is the last frame of a segment. Another one is found by the headers alone: the chain over them was
    /// checked, and the header after a frame states its hash.
    pub(super) fn hash_at(&self, position: Position) -> Option<ChainHash> {
        let behind = self.segments.partition_point(|past| past.first_position <= position);
        let past = self.segments.get(behind.checked_sub(1)?)?;
        let next = position.next()?;
        if next >= past.next_position {
            return past.last_hash.filter(|_| next == past.next_position);
        }
        let bytes = self.folder.load(past.number).ok()?;
        let mut rest = bytes.get(SegmentHeader::parse(&bytes).ok()?.stored_bytes()..)?;
        loop {
            let frame = FrameHeader::parse(rest).ok()?;
            if frame.first_position >= next {
                return (frame.first_position == next).then_some(frame.previous);
            }
            rest = rest.get(frame.stored_bytes()..)?;
        }
    }
}
