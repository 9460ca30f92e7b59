//! The segments that hold events, and how a frame in one of them is found and opened.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bitacora_formats::{
    Decompressor, FRAME_HEADER_BYTES, FrameHeader, FrameOpener, Position, SegmentNumber, StoredFrame,
};

use crate::disk::DiskFile;
use crate::error::ReadError;
use crate::fault::Fault;
use crate::limits::FRAME_MARK_BYTES;

/// The name of a segment's file.
pub(crate) fn segment_file_name(number: SegmentNumber) -> String {
    format!("{:010}.seg", number.0)
}

/// The number in a segment's file name; `None` for anything that is not exactly such a name.
pub(crate) fn segment_number(name: &str) -> Option<SegmentNumber> {
    let digits = name.strip_suffix(".seg")?;
    let number = SegmentNumber(digits.parse().ok()?);
    (number.0 > 0 && segment_file_name(number) == name).then_some(number)
}

pub(crate) fn segments_folder(ledger: &Path) -> PathBuf {
    ledger.join("segments")
}

/// A segment with at least one durable frame, as readers see it.
pub(crate) struct Segment {
    pub(crate) number: SegmentNumber,
    pub(crate) first: Position,
    file: Arc<dyn DiskFile>,
    opener: FrameOpener,
    extent: RwLock<Extent>,
}

/// How far the segment is durable, and where some of its frames stand.
struct Extent {
    marks: Vec<Mark>,
    end: u64,
}

#[derive(Clone, Copy)]
struct Mark {
    first: Position,
    offset: u64,
}

impl Segment {
    pub(crate) fn new(
        number: SegmentNumber,
        first: Position,
        file: Arc<dyn DiskFile>,
        opener: FrameOpener,
    ) -> Self {
        let extent = RwLock::new(Extent { marks: Vec::new(), end: 0 });
        Self { number, first, file, opener, extent }
    }

    /// A frame is durable there. Called in order.
    pub(crate) fn note_frame(&self, first: Position, offset: u64, stored_bytes: u64) {
        let mut extent = self.extent.write().unwrap_or_else(PoisonError::into_inner);
        if extent.marks.last().is_none_or(|mark| offset >= mark.offset + FRAME_MARK_BYTES) {
            extent.marks.push(Mark { first, offset });
        }
        extent.end = offset + stored_bytes;
    }

    /// The frame that holds `position`, or the first one after it.
    pub(crate) fn find(&self, position: Position) -> Result<Option<FramePlace>, ReadError> {
        let mut place = self.at_mark_before(position);
        while let Some(found) = place {
            if found.header.last_position() >= position {
                return Ok(Some(found));
            }
            place = self.following(&found)?;
        }
        Ok(None)
    }

    fn at_mark_before(&self, position: Position) -> Option<FramePlace> {
        let mark = {
            let extent = self.extent.read().unwrap_or_else(PoisonError::into_inner);
            let after = extent.marks.partition_point(|mark| mark.first <= position);
            extent.marks.get(after.saturating_sub(1)).copied()
        }?;
        self.place_at(mark.offset).ok().flatten()
    }

    /// The frame right behind this one; `None` at the durable end.
    pub(crate) fn following(&self, place: &FramePlace) -> Result<Option<FramePlace>, ReadError> {
        self.place_at(place.offset + place.header.stored_bytes() as u64)
    }

    fn place_at(&self, offset: u64) -> Result<Option<FramePlace>, ReadError> {
        let end = self.extent.read().unwrap_or_else(PoisonError::into_inner).end;
        if offset >= end {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| self.disk_error(&error))?;
        let header = FrameHeader::parse(&bytes).map_err(|error| self.corrupt(offset, None, &error))?;
        Ok(Some(FramePlace { offset, header }))
    }

    /// The body of a frame: authenticated, then decompressed to exactly its stated size.
    pub(crate) fn open(
        &self,
        place: &FramePlace,
        decompressor: &mut Decompressor,
    ) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; place.header.stored_bytes()];
        self.file.read_exact_at(&mut bytes, place.offset).map_err(|error| self.disk_error(&error))?;
        let frame =
            StoredFrame::parse(&bytes).map_err(|error| self.corrupt(place.offset, Some(place), &error))?;
        if *frame.header() != place.header {
            return Err(self.corrupt(
                place.offset,
                Some(place),
                &"the frame's header changed between two reads",
            ));
        }
        self.opener
            .open_body(&frame, decompressor)
            .map_err(|error| self.corrupt(place.offset, Some(place), &error))
    }

    pub(crate) fn corrupt(
        &self,
        offset: u64,
        place: Option<&FramePlace>,
        what: &dyn std::fmt::Display,
    ) -> ReadError {
        ReadError::Corrupt(Fault {
            file: format!("segments/{}", segment_file_name(self.number)),
            offset,
            first_position: place.map_or(self.first, |place| place.header.first_position).get(),
            what: what.to_string(),
        })
    }

    fn disk_error(&self, error: &std::io::Error) -> ReadError {
        ReadError::Disk {
            file: format!("segments/{}", segment_file_name(self.number)),
            what: error.to_string(),
        }
    }
}

/// Where a frame stands, with its header.
#[derive(Clone)]
pub(crate) struct FramePlace {
    pub(crate) offset: u64,
    pub(crate) header: FrameHeader,
}

/// All segments with durable events, in order.
#[derive(Default)]
pub(crate) struct Segments {
    list: RwLock<Vec<Arc<Segment>>>,
}

impl Segments {
    pub(crate) fn add(&self, segment: Arc<Segment>) {
        self.list.write().unwrap_or_else(PoisonError::into_inner).push(segment);
    }

    pub(crate) fn len(&self) -> usize {
        self.list.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The segment that holds `position`, if it is durable.
    pub(crate) fn holding(&self, position: Position) -> Option<Arc<Segment>> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        let after = list.partition_point(|segment| segment.first <= position);
        list.get(after.checked_sub(1)?).cloned()
    }

    /// The segment after this one.
    pub(crate) fn after(&self, segment: &Segment) -> Option<Arc<Segment>> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        let at = list.partition_point(|other| other.number <= segment.number);
        list.get(at).cloned()
    }
}
