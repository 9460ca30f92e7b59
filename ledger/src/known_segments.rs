//! The beginnings of all segments, released ones among them: archives have to agree with them.

use std::io;
use std::path::Path;

use bitacora_formats::{Frontier, KekId, LedgerId, Position};

use crate::archiving::SegmentStart;
use crate::disk::Disk;
use crate::segment_list::{SegmentList, read_released, segment_header};
use crate::segments::segments_folder;

/// A segment by its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSegment {
    /// The segment's number, generation and place in the log.
    pub start: SegmentStart,
    /// The tree before its first event.
    pub tree: Frontier,
    /// The key-encryption key that wraps its data key.
    pub kek: KekId,
    /// `true`: its frames are gone from here; archives hold its events.
    pub is_released: bool,
}

/// The segments of a ledger whose headers can be read, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSegments {
    /// The ledger that the first of them says it is of; `None` without one.
    pub ledger: Option<LedgerId>,
    /// The segments.
    pub segments: Vec<KnownSegment>,
    /// The last position of those that were released.
    pub released_through: Option<Position>,
}

impl KnownSegments {
    /// Reads the segments of the ledger in this folder, whether another process has it open or not. Only headers are read.
    ///
    /// # Errors
    /// The disk's.
    pub fn read(disk: &dyn Disk, folder: &Path) -> io::Result<Self> {
        let folder = segments_folder(folder);
        let list = SegmentList::read(disk, &folder).map_err(io::Error::other)?;
        let released = list.released.checked_sub(1).and_then(|last| list.numbers.get(last));
        let released = released.map(|last| read_released(disk, &folder, *last, None)).transpose()?.flatten();
        let (mut ledger, mut segments) = (None, Vec::with_capacity(list.numbers.len()));
        for (index, number) in list.numbers.into_iter().enumerate() {
            // The last ones may be made ahead, and be blank.
            let Some(header) = segment_header(disk, &folder, number)? else { continue };
            ledger.get_or_insert(header.ledger);
            let start = SegmentStart {
                number,
                generation: header.generation,
                epoch: header.epoch,
                first_position: header.first_position,
                previous: header.previous.hash,
            };
            segments.push(KnownSegment {
                start,
                tree: header.frontier,
                kek: header.kek,
                is_released: index < list.released,
            });
        }
        // Where the first one is missing, those behind the gap say which ledger it is.
        if let (None, Some(gap)) = (ledger, list.gap) {
            ledger = gap.next_header(disk, &folder)?.map(|header| header.ledger);
        }
        Ok(Self { ledger, segments, released_through: released.map(|released| released.last_position) })
    }
}
