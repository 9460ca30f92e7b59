//! The release of segments whose events lie in archives.
//! The log records each release. Then the segment's remainder takes its place, and its file goes.

use std::io;
use std::sync::Arc;

use bitacora_formats::{
    FOOTER_BYTES, FOOTER_MAGIC, MAX_SEGMENT_HEADER_BYTES, Position, ReleasedSegment, SegmentFooter,
    SegmentHeader, TreeHash,
};

use crate::append::own_events::append_own;
use crate::append::service_events::ServiceEvent;
use crate::archive_records::ReleaseExtent;
use crate::host::disk::OpenMode;
use crate::ledger::Ledger;
use crate::opening::released_files::write_left;
use crate::read_error::ReadError;
use crate::segment_list::segment_header;
use crate::segments::segment_file::is_signed_by;
use crate::segments::{SEGMENTS, Segment, segment_file_name, segment_number, segments_folder};
use crate::shared_state::SharedState;
use crate::submission::append_error::AppendError;
use crate::tree::leaves::{TREE, leaves_file_name};

/// The reasons for which no segment was let go, or not all of those that may go.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The bytes of old segments were not all proven since the opening.
    #[error("the log is not proven yet since it was opened; nothing was released: try again later")]
    NotProven,
    /// The log takes nothing, so it cannot record a release. Earlier releases stand.
    #[error("recording what is released: {0}; the segment stays")]
    Unrecorded(AppendError),
    /// A segment cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk gave an error. Earlier releases stand.
    #[error("releasing {file}: {source}")]
    Disk {
        /// The file.
        file: String,
        /// The disk's error.
        source: io::Error,
    },
}

impl Ledger {
    /// The last position that lies in archives alone; `None` while every segment is here.
    #[must_use]
    pub fn released_through(&self) -> Option<Position> {
        self.shared().read.segments.released_through()
    }

    /// Returns `true` if [`Self::release`] up to there would let go of anything, as things stand now.
    #[must_use]
    pub fn has_releasable(&self, through: Position) -> bool {
        let shared = self.shared();
        let through = protected_through(shared).map(|known| known.min(through));
        let first = shared.read.segments.first_here();
        shared.is_proven() && first.zip(through).is_some_and(|((_, last), through)| last <= through)
    }

    /// Lets go of the segments here all of whose events are at `through` or before, in their order. Stops where no tree head covers them
    /// that the anchor and the witnesses, if any, have seen. The caller has read every one of those events back from archives that are
    /// still there, and gives the reason. Returns `None` if there was nothing to let go.
    ///
    /// The log records each segment's release, durably and once, before the segment goes. A crash leaves each segment as it was, or its
    /// remainder in its place, or both, and then the segment counts. The next release goes on, with releases that are recorded already
    /// too.
    ///
    /// # Errors
    /// [`ReleaseError`]; what was let go before stands.
    pub fn release(&self, through: Position, reason: &str) -> Result<Option<ReleaseExtent>, ReleaseError> {
        let shared = self.shared();
        if !shared.is_proven() {
            return Err(ReleaseError::NotProven);
        }
        let _alone = shared.read.segments.releasing();
        remove_returned(shared)?;
        let Some(through) = protected_through(shared).map(|known| known.min(through)) else {
            return Ok(None);
        };
        let mut all: Option<ReleaseExtent> = None;
        while let Some((segment, last)) =
            shared.read.segments.first_here().filter(|(_, last)| *last <= through)
        {
            let bytes = let_go(shared, &segment, last, reason)?;
            let released =
                all.get_or_insert(ReleaseExtent { first: segment.first, last, segments: 0, bytes: 0 });
            released.last = last;
            released.segments += 1;
            released.bytes += bytes;
        }
        Ok(all)
    }
}

/// The last position that a signed head outside of the folder covers, at the anchor and every witness that is asked; the last that a tree head covers
/// where nobody is, and the last of all where none are signed.
fn protected_through(shared: &SharedState) -> Option<Position> {
    let passed = shared.environment.clock.passed();
    if shared.heads.signer.verifier_key().is_none() {
        return Some(shared.read.head().position);
    }
    let heads = shared.heads.signer.status(passed);
    let mut size = heads.size.min(heads.anchored.unwrap_or(u64::MAX));
    if let Some(witnessed) = shared.heads.witnesses.status(passed) {
        size = size.min(witnessed.size);
    }
    Position::new(size)
}

/// Removes the files of released segments that a crash brought back.
fn remove_returned(shared: &SharedState) -> Result<(), ReleaseError> {
    let folder = segments_folder(&shared.folder);
    let disk = &*shared.environment.disk;
    let released = shared.read.segments.all().into_iter().take_while(|segment| segment.is_released());
    let numbers: Vec<_> = released.map(|segment| segment.number).collect();
    let in_folder = |source| ReleaseError::Disk { file: SEGMENTS.to_owned(), source };
    let entries = disk.list(&folder).map_err(in_folder)?;
    let returned = entries.iter().filter_map(|entry| segment_number(&entry.name));
    let returned: Vec<_> = returned.filter(|number| numbers.binary_search(number).is_ok()).collect();
    for number in &returned {
        disk.remove_file(&folder.join(segment_file_name(*number))).map_err(in_folder)?;
    }
    if returned.is_empty() { Ok(()) } else { disk.sync_folder(&folder).map_err(in_folder) }
}

/// Has the log say of a segment that it goes. Returned `Ok` ⇒ durable.
fn record_release(shared: &SharedState, released: &ReleaseExtent, reason: &str) -> Result<(), ReleaseError> {
    match append_own(shared, &ServiceEvent::Released { released, reason }) {
        // It was said, of these very events: before they were brought back, from archives into segments of another length.
        Err(AppendError::IdReused { .. }) => Ok(()),
        said => said.map_err(ReleaseError::Unrecorded),
    }
}

/// Returned `Ok` ⇒ the log says that the segment goes, its remainder is durable, and its file is gone unless a crash brings it back.
///
/// Syscalls: `openat`, `pread64`; those of an append; those of [`crate::opening::released_files`]; `unlink`, `fsync` of the folder.
fn let_go(
    shared: &SharedState,
    segment: &Segment,
    last: Position,
    reason: &str,
) -> Result<u64, ReleaseError> {
    let folder = segments_folder(&shared.folder);
    let disk = &*shared.environment.disk;
    let name = segment_file_name(segment.number);
    let in_file = |source| ReleaseError::Disk { file: format!("segments/{name}"), source };
    let path = folder.join(&name);
    let (released, bytes) = what_is_left(shared, segment, last)?;
    let end_root = match shared.read.segments.after(segment) {
        Some(next) => released_before(shared, &released, &next).map_err(in_file)?,
        None => return Err(in_file(io::ErrorKind::InvalidInput.into())),
    };
    let released = released.sign(shared.keyring.signing());
    let left = released.encode();
    // The next opening has to read it.
    if ReleasedSegment::parse(&left).as_ref() != Ok(&released) {
        return Err(in_file(io::ErrorKind::InvalidData.into()));
    }
    record_release(shared, &ReleaseExtent { first: segment.first, last, segments: 1, bytes }, reason)?;
    write_left(disk, &folder, segment.number, &left).map_err(in_file)?;
    shared.read.segments.release(Segment::released(&released, end_root, Arc::clone(&shared.read.tier)));
    disk.remove_file(&path).and_then(|()| disk.sync_folder(&folder)).map_err(in_file)?;
    // Derived, and in nobody's way.
    let leaves = shared.folder.join(TREE).join(leaves_file_name(segment.number));
    if let Err(error) = disk.remove_file(&leaves)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(segment = segment.number.0, %error, "the leaves of a released segment could not be removed");
    }
    Ok(bytes)
}

/// The root of the tree at the end of the segment; the header of the next one goes on from what is left.
fn released_before(shared: &SharedState, released: &ReleasedSegment, next: &Segment) -> io::Result<TreeHash> {
    let folder = segments_folder(&shared.folder);
    let header =
        segment_header(&*shared.environment.disk, &folder, next.number)?.ok_or(io::ErrorKind::InvalidData)?;
    let end = released.end_before(&header).map_err(io::Error::other)?;
    Ok(end.tree_root)
}

/// Returns the remainder of a segment, made from its file, and the size of that in bytes.
fn what_is_left(
    shared: &SharedState,
    segment: &Segment,
    last: Position,
) -> Result<(ReleasedSegment, u64), ReleaseError> {
    let name = segment_file_name(segment.number);
    let in_file = |source| ReleaseError::Disk { file: format!("segments/{name}"), source };
    let path = segments_folder(&shared.folder).join(&name);
    let read = || -> io::Result<(SegmentHeader, Option<SegmentFooter>, u64)> {
        let file = shared.environment.disk.open(&path, OpenMode::Read)?;
        let bytes = file.len()?;
        let length = usize::try_from(bytes).unwrap_or(usize::MAX).min(MAX_SEGMENT_HEADER_BYTES);
        let mut start = vec![0; length];
        file.read_exact_at(&mut start, 0)?;
        let header = SegmentHeader::parse(&start).map_err(io::Error::other)?;
        // The segment's facts stand in it alone from now on.
        header.verify_certificate().map_err(io::Error::other)?;
        if !is_signed_by(&shared.keyring, &header) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut end = [0; FOOTER_BYTES];
        file.read_exact_at(&mut end, bytes.saturating_sub(FOOTER_BYTES as u64))?;
        let footer = match SegmentFooter::parse(&end) {
            Ok(footer) if footer.last_position == last => Some(footer),
            // Bytes that look like a footer and are none of this segment's are damage, which nobody may make forgotten.
            _ if end.starts_with(&FOOTER_MAGIC) => return Err(io::ErrorKind::InvalidData.into()),
            _ => None,
        };
        Ok((header, footer, bytes))
    };
    let (header, footer, bytes) = read().map_err(in_file)?;
    let time_at = |position| {
        let place = segment.find(position)?;
        let lacking = || segment.corrupt(0, None, &format!("position {position} expected in it"));
        place.map(|place| place.header.time).ok_or_else(lacking)
    };
    let (first_time, last_time) = (time_at(segment.first)?, time_at(last)?);
    Ok((ReleasedSegment { header, last_position: last, first_time, last_time, footer, signed: None }, bytes))
}
