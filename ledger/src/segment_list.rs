//! The list of segments: 1, 2, 3 … up to the end, or to the first one that is missing.
//! The first of them may have been released.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{
    MAX_RELEASED_BYTES, MAX_SEGMENT_HEADER_BYTES, Position, ReleasedSegment, SegmentEnd, SegmentHeader,
    SegmentNumber, SigningChain, undo_one_flip,
};

use crate::host::disk::{Disk, OpenMode};
use crate::log_fault::LogFault;
use crate::open_error::OpenError;
use crate::segments::{SEGMENTS, released_file_name, released_number, segment_file_name, segment_number};
use crate::tree::leaves::{TREE, leaves_file_name, leaves_number};

/// The files of a ledger's segments by their numbers. Files with other names are not the ledger's.
pub(crate) struct SegmentList {
    /// From 1 on without gaps.
    pub(crate) numbers: Vec<SegmentNumber>,
    /// The number of segments at its beginning that were released.
    pub(crate) released: usize,
    /// The gap after those, if they do not reach the end.
    pub(crate) gap: Option<Gap>,
    /// The last segment that leaves lie beside. They are written once a frame is durable, so that it was there.
    leaves_end: Option<SegmentNumber>,
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
        // First: a live ledger goes on meanwhile.
        let beside = beside(disk, folder)?;
        let leaves_end = beside.iter().filter_map(|name| leaves_number(name)).max();
        let entries = disk
            .list(folder)
            .map_err(|source| OpenError::Disk { what: "listing the segments".to_owned(), source })?;
        let names = || entries.iter().map(|entry| entry.name.as_str());
        let stored: BTreeSet<_> = names().filter_map(segment_number).collect();
        // Where a released segment's file is missing, its copy stands for it.
        let copies = beside.iter().filter_map(|name| released_number(name));
        let copies = copies.filter(|number| !stored.contains(number));
        let left: BTreeSet<_> = names().filter_map(released_number).chain(copies).collect();
        // A crash may have left both, or brought a segment back with released ones behind it: the last ones count as segments.
        let released = (1..).map(SegmentNumber).take_while(|number| left.contains(number));
        let released = released.filter(|number| !stored.contains(number)).last();
        let released = released.map_or(0, |last| last.0 as usize);
        let mut numbers: Vec<_> = (1..).map(SegmentNumber).take(released).collect();
        numbers.extend(stored.into_iter().filter(|number| number.0 as usize > released));
        let expected = (1..).map(SegmentNumber);
        let gap = expected.zip(&numbers).enumerate().find(|(_, (expected, number))| expected != *number);
        let gap = gap.map(|(at, (missing, next))| (at, Gap { missing, next: *next }));
        if let Some((at, _)) = gap {
            numbers.truncate(at);
        }
        Ok(Self { numbers, released, gap: gap.map(|(_, gap)| gap), leaves_end })
    }

    /// Returns the fault of a missing end: leaves lie beside a segment behind the last one with a frame.
    pub(crate) fn missing_end(&self, end: &SegmentEnd) -> Option<LogFault> {
        let (leaves_end, missing) = (self.leaves_end.filter(|last| *last > end.number)?, end.number.next()?);
        let beside = leaves_file_name(leaves_end);
        Some(LogFault {
            file: format!("{SEGMENTS}/{}", segment_file_name(missing)),
            offset: 0,
            first_position: end.next_position.get(),
            last_position: None,
            what: format!(
                "the file is missing or empty, and {TREE}/{beside} is of events in it or behind it"
            ),
        })
    }
}

/// The names of the files that lie beside segments.
fn beside(disk: &dyn Disk, folder: &Path) -> Result<Vec<String>, OpenError> {
    match disk.list(&copies_folder(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(OpenError::Disk { what: "listing the leaves".to_owned(), source }),
        Ok(entries) => Ok(entries.into_iter().map(|entry| entry.name).collect()),
    }
}

impl Gap {
    /// Returns the fault of the gap; `next_position` is the first position that the segments before it do not hold.
    pub(crate) fn fault(&self, disk: &dyn Disk, folder: &Path, next_position: Position) -> LogFault {
        let next = segment_file_name(self.next);
        let begins = match self.next_begins(disk, folder) {
            Some(position) => format!(", which begins at position {position},"),
            None => String::new(),
        };
        LogFault {
            file: format!("{SEGMENTS}/{}", segment_file_name(self.missing)),
            offset: 0,
            first_position: next_position.get(),
            last_position: None,
            what: format!("the file is missing, and {next}{begins} is there"),
        }
    }

    /// Returns the header of the first segment behind it.
    pub(crate) fn next_header(&self, disk: &dyn Disk, folder: &Path) -> io::Result<Option<SegmentHeader>> {
        segment_header(disk, folder, self.next)
    }

    /// Returns the position at which the remaining segments go on, if their header is beyond doubt.
    fn next_begins(&self, disk: &dyn Disk, folder: &Path) -> Option<Position> {
        let header = self.next_header(disk, folder).ok()??;
        header.verify_certificate().ok()?;
        Some(header.first_position)
    }
}

/// The header of a segment, also of one that was released; `None` if there is none, or none that can be read. Its certificate is
/// not looked at.
pub(crate) fn segment_header(
    disk: &dyn Disk,
    folder: &Path,
    number: SegmentNumber,
) -> io::Result<Option<SegmentHeader>> {
    let file = match disk.open(&folder.join(segment_file_name(number)), OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match read_released(disk, folder, number, None) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                released => Ok(released?.map(|released| released.header)),
            };
        }
        opened => opened?,
    };
    let bytes = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    let mut start = vec![0; bytes.min(MAX_SEGMENT_HEADER_BYTES)];
    file.read_exact_at(&mut start, 0)?;
    Ok(SegmentHeader::parse(&start).ok())
}

/// Reads the file that is left of a released segment; `None` if it is not that of one with this number, or one that none of `signers`
/// signed. One flipped bit is undone, where certificate and signature show which one it was. Of other damage the copy counts, and so it
/// does where the file is of the format without a signature.
pub(crate) fn read_released(
    disk: &dyn Disk,
    folder: &Path,
    number: SegmentNumber,
    signers: Option<&SigningChain>,
) -> io::Result<Option<ReleasedSegment>> {
    let contents = match released_bytes(disk, folder, number) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Without a copy too, it is missing.
            released_copy(disk, folder, number).ok_or(error)?;
            Vec::new()
        }
        read => read?,
    };
    let found = ReleasedSegment::parse(&contents).ok().filter(|found| is_released(found, number, signers));
    if found.as_ref().is_some_and(|found| found.signed.is_some()) {
        return Ok(found);
    }
    let copy = released_copy(disk, folder, number).and_then(|copy| ReleasedSegment::parse(&copy).ok());
    let copy = copy.filter(|copy| copy.signed.is_some() && copy.header.verify_certificate().is_ok());
    let copy = copy.filter(|copy| is_released(copy, number, signers));
    Ok(copy.or(found).or_else(|| mend_released(&contents, number, signers)))
}

fn is_released(found: &ReleasedSegment, number: SegmentNumber, signers: Option<&SigningChain>) -> bool {
    found.header.number == number && signers.is_none_or(|signers| found.check_signature(signers).is_ok())
}

/// Returns the bytes of the copy of a released segment's file; `None` where none can be read.
pub(crate) fn released_copy(disk: &dyn Disk, folder: &Path, number: SegmentNumber) -> Option<Vec<u8>> {
    released_bytes(disk, &copies_folder(folder), number).ok()
}

/// Returns the folder of the copies, beside the one of the segments.
pub(crate) fn copies_folder(folder: &Path) -> PathBuf {
    folder.with_file_name(TREE)
}

/// The bytes of a released segment's file.
pub(crate) fn released_bytes(disk: &dyn Disk, folder: &Path, number: SegmentNumber) -> io::Result<Vec<u8>> {
    let file = disk.open(&folder.join(released_file_name(number)), OpenMode::Read)?;
    let bytes = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    // One byte more than any has is enough to refuse it.
    let mut contents = vec![0; bytes.min(MAX_RELEASED_BYTES + 1)];
    file.read_exact_at(&mut contents, 0)?;
    Ok(contents)
}

/// Returns a released segment as its file had it before one bit changed; `None` where no certificate shows it.
fn mend_released(
    contents: &[u8],
    number: SegmentNumber,
    signers: Option<&SigningChain>,
) -> Option<ReleasedSegment> {
    let read = |bytes: &[u8]| {
        let released = ReleasedSegment::parse(bytes).ok()?;
        let is_certified = released.header.verify_certificate().is_ok();
        (is_certified && is_released(&released, number, signers)).then_some(released)
    };
    if contents.len() > MAX_RELEASED_BYTES {
        return None;
    }
    undo_one_flip(contents, read).map(|(released, _)| released)
}
