//! A segment's file of leaves, read beside its frames.

use std::fs::File;
use std::io;

use bitacora_formats::{
    FrameHeader, LEAF_ENTRY_BYTES, LEAVES_HEADER_BYTES, LeavesHeader, SegmentHeader, is_all_zeros,
};

use super::fault::{Fault, FaultKind};
use super::folder::{LedgerFolder, shown_leaves};
use super::window::Window;

/// The entries of one segment, from some event on.
pub(super) struct SegmentLeaves<'a> {
    file: File,
    window: &'a mut Window,
    /// The size of the file when it was opened.
    file_bytes: u64,
    /// The offset of the next event's entry.
    offset: u64,
}

/// The entries of one frame, and their offset in the file.
pub(super) struct FrameLeaves<'a> {
    pub(super) offset: u64,
    pub(super) entries: &'a [[u8; LEAF_ENTRY_BYTES]],
}

impl FrameLeaves<'_> {
    /// Returns `true` if the entries from this offset on are zeros, as a loss of power leaves them.
    pub(super) fn has_zeros_from(&self, offset: u64) -> bool {
        let skipped = usize::try_from(offset.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        is_all_zeros(self.entries.as_flattened().get(skipped..).unwrap_or_default())
    }
}

/// The reason why there are no leaves to continue with.
pub(super) enum LeavesFileError {
    /// There is no such file.
    Absent,
    /// The file ends too early, at this size: the leaves were cut off, or are not written yet.
    Cut(u64),
    Unreadable(io::Error),
    Fault(Fault),
}

impl From<io::Error> for LeavesFileError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Absent } else { Self::Unreadable(error) }
    }
}

impl<'a> SegmentLeaves<'a> {
    /// Opens the leaves of the segment with this header. Call it before any frame is read: the frames of leaves that
    /// are written meanwhile are there first.
    pub(super) fn open(
        folder: &LedgerFolder<'_>,
        header: &SegmentHeader,
        window: &'a mut Window,
    ) -> Result<Self, LeavesFileError> {
        let mut file = folder.open_leaves(header.number)?;
        let file_bytes = file.metadata()?.len();
        window.begin();
        // A file shorter than a header was cut short at its creation.
        if file_bytes < LEAVES_HEADER_BYTES as u64 || !window.fill(&mut file, LEAVES_HEADER_BYTES)? {
            return Err(LeavesFileError::Cut(file_bytes));
        }
        if let Err(kind) = check_header(window.bytes(), header) {
            let (first, file) = (header.first_position, shown_leaves(header.number));
            return Err(LeavesFileError::Fault(Fault::at(file, 0, first, None, kind)));
        }
        let offset = LEAVES_HEADER_BYTES as u64;
        window.advance_to(offset);
        Ok(Self { file, window, file_bytes, offset })
    }

    /// Returns the entries of the next frame, if all of them are there.
    pub(super) fn next(&mut self, header: &FrameHeader) -> Result<FrameLeaves<'_>, LeavesFileError> {
        let needed = header.count as usize * LEAF_ENTRY_BYTES;
        let offset = self.offset;
        self.window.advance_to(offset);
        let end = offset + needed as u64;
        let is_there = end <= self.file_bytes
            && (self.window.bytes().len() >= needed || self.window.fill(&mut self.file, needed)?);
        let entries = self
            .window
            .bytes()
            .get(..needed)
            .filter(|_| is_there)
            .ok_or(LeavesFileError::Cut(self.file_bytes))?;
        self.offset = end;
        Ok(FrameLeaves { offset, entries: entries.as_chunks().0 })
    }

    /// Returns the offset of the next entry.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the size of the file when it was opened.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }
}

/// Checks the header: each of its bytes follows from the segment's header.
fn check_header(bytes: &[u8], segment: &SegmentHeader) -> Result<(), FaultKind> {
    let header = LeavesHeader::parse(bytes)?;
    let same = |what, expected: &dyn ToString, found: &dyn ToString| {
        let (expected, found) = (expected.to_string(), found.to_string());
        if expected == found { Ok(()) } else { Err(FaultKind::LeavesOf { what, expected, found }) }
    };
    same("ledger", &segment.ledger, &header.ledger)?;
    same("segment", &segment.number.0, &header.segment.0)?;
    same("first position", &segment.first_position, &header.first_position)
}
