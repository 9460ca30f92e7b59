//! The count of the segments on this disk.

use bitacora_formats::{Micros, Position};

use super::{SegmentStorage, Segments};

/// The segments with events that lie in files here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SegmentCensus {
    /// Files.
    pub files: u64,
    /// Bytes in use in them.
    pub bytes: u64,
    /// The first position in them; `None` without any.
    pub first: Option<Position>,
    /// The time of its frame; `None` where that cannot be read.
    pub first_time: Option<Micros>,
}

impl Segments {
    /// Counts the segments that lie in files.
    pub(crate) fn census(&self) -> SegmentCensus {
        let mut census = SegmentCensus::default();
        for segment in self.all() {
            let SegmentStorage::File(stored) = &segment.storage else { continue };
            if census.files == 0 {
                census.first = Some(segment.first);
                census.first_time = stored.first_time().ok().flatten();
            }
            census.files += 1;
            census.bytes += stored.bytes();
        }
        census
    }
}
