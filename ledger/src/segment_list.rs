//! Which segment files there are: 1, 2, 3 … up to the end, or to the first one that is missing.

use std::io;
use std::path::Path;

use bitacora_formats::{MAX_SEGMENT_HEADER_BYTES, Position, SegmentHeader, SegmentNumber};

use crate::disk::{Disk, OpenMode};
use crate::error::OpenError;
use crate::fault::Fault;
use crate::segments::{SEGMENTS, segment_file_name, segment_number};

/// The files of a ledger's segments by their numbers. Files with other names are not the ledger's.
pub(crate) struct SegmentList {
    /// From 1 on without gaps.
    pub(crate) numbers: Vec<SegmentNumber>,
    /// What comes after those, if that is not the end.
    pub(crate) gap: Option<Gap>,
}

/// A segment that is missing, with others behind it. No crash leaves one: files are made in order and removed from the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    missing: SegmentNumber,
    /// The first one behind it that is there.
    next: SegmentNumber,
}

impl SegmentList {
    pub(crate) fn read(disk: &dyn Disk, folder: &Path) -> Result<Self, OpenError> {
        let entries = disk
            .list(folder)
            .map_err(|source| OpenError::Disk { what: "listing the segments".to_owned(), source })?;
        let mut numbers: Vec<_> = entries.iter().filter_map(|entry| segment_number(&entry.name)).collect();
        let expected = (1..).map(SegmentNumber);
        let gap = expected.zip(&numbers).enumerate().find(|(_, (expected, number))| expected != *number);
        let gap = gap.map(|(at, (missing, next))| (at, Gap { missing, next: *next }));
        if let Some((at, _)) = gap {
            numbers.truncate(at);
        }
        Ok(Self { numbers, gap: gap.map(|(_, gap)| gap) })
    }
}

impl Gap {
    /// What is wrong, where `next_position` is the first that the segments before it do not hold.
    pub(crate) fn fault(&self, disk: &dyn Disk, folder: &Path, next_position: Position) -> Fault {
        let next = segment_file_name(self.next);
        let begins = match self.next_begins(disk, folder) {
            Some(position) => format!(", which begins at position {position},"),
            None => String::new(),
        };
        Fault {
            file: format!("{SEGMENTS}/{}", segment_file_name(self.missing)),
            offset: 0,
            first_position: next_position.get(),
            what: format!("the file is missing, and {next}{begins} is there"),
        }
    }

    /// Where what is left goes on, if its header is beyond doubt.
    fn next_begins(&self, disk: &dyn Disk, folder: &Path) -> Option<Position> {
        let header = || -> io::Result<Vec<u8>> {
            let file = disk.open(&folder.join(segment_file_name(self.next)), OpenMode::Read)?;
            let bytes = usize::try_from(file.len()?).unwrap_or(usize::MAX);
            let mut start = vec![0; bytes.min(MAX_SEGMENT_HEADER_BYTES)];
            file.read_exact_at(&mut start, 0)?;
            Ok(start)
        };
        let header = SegmentHeader::parse(&header().ok()?).ok()?;
        header.verify_certificate().ok()?;
        Some(header.first_position)
    }
}
