//! A segment in its file: how a frame in it is found and opened.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use bitacora_formats::{
    Decompressor, FRAME_HEADER_BYTES, FrameHeader, FrameOpener, Micros, Position, SegmentHeader,
    SegmentNumber, StoredFrame,
};

use super::{FrameOutline, FramePlace, corrupt, partition_point, shown};
use crate::disk::DiskFile;
use crate::error::ReadError;
use crate::limits::{FRAME_MARK_BYTES, MAX_EXPECTED_BYTES};

/// A segment in its file.
pub(super) struct StoredSegment {
    number: SegmentNumber,
    first: Position,
    file: Arc<dyn DiskFile>,
    opener: FrameOpener,
    /// The position of its last event, where it was opened without being read.
    last: Option<Position>,
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

impl StoredSegment {
    pub(super) fn new(
        number: SegmentNumber,
        first: Position,
        file: Arc<dyn DiskFile>,
        opener: FrameOpener,
    ) -> Self {
        let extent = RwLock::new(Extent { marks: Vec::new(), end: 0 });
        Self { number, first, file, opener, last: None, extent }
    }

    /// A segment that ended, of which only the header was read: its frames stand there, and hold the events up to `last`.
    pub(super) fn ended(
        header: &SegmentHeader,
        file: Arc<dyn DiskFile>,
        opener: FrameOpener,
        frames: Range<u64>,
        last: Position,
    ) -> Self {
        let marks = vec![Mark { first: header.first_position, offset: frames.start }];
        let extent = RwLock::new(Extent { marks, end: frames.end });
        Self { number: header.number, first: header.first_position, file, opener, last: Some(last), extent }
    }

    /// A frame is durable there. Called in order.
    pub(super) fn note_frame(&self, first: Position, offset: u64, stored_bytes: u64) {
        let mut extent = self.extent.write().unwrap_or_else(PoisonError::into_inner);
        if extent.marks.last().is_none_or(|mark| offset >= mark.offset + FRAME_MARK_BYTES) {
            extent.marks.push(Mark { first, offset });
        }
        extent.end = offset + stored_bytes;
    }

    /// The frame that holds `position`, or the first one after it.
    pub(super) fn find(&self, position: Position) -> Result<Option<FramePlace>, ReadError> {
        let mut place = self.at_mark_before(position)?;
        while let Some(found) = place {
            if found.header.last_position() >= position {
                return Ok(Some(found));
            }
            place = self.following(&found)?;
        }
        Ok(None)
    }

    /// The time of the first frame.
    pub(super) fn first_time(&self) -> Result<Option<Micros>, ReadError> {
        Ok(self.find(self.first)?.map(|place| place.header.time))
    }

    /// The first position of the first frame at `time` or later; `None` where the segment ends before. Frame times never
    /// go back, so marks are searched by halves, and the frames behind one of them in order.
    pub(super) fn first_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
        let offsets: Vec<u64> = {
            let extent = self.extent.read().unwrap_or_else(PoisonError::into_inner);
            extent.marks.iter().map(|mark| mark.offset).collect()
        };
        let at_or_after = |offset: u64| {
            let place = self.place_at(offset)?;
            Ok(place.filter(|place| place.header.time < time).is_none())
        };
        let before = partition_point(&offsets, |offset| at_or_after(*offset).map(|later| !later))?;
        let mut place = match offsets.get(before.saturating_sub(1)) {
            Some(offset) => self.place_at(*offset)?,
            None => None,
        };
        while let Some(found) = place {
            if found.header.time >= time {
                return Ok(Some(found.header.first_position));
            }
            place = self.following(&found)?;
        }
        Ok(None)
    }

    fn at_mark_before(&self, position: Position) -> Result<Option<FramePlace>, ReadError> {
        let mark = {
            let extent = self.extent.read().unwrap_or_else(PoisonError::into_inner);
            let after = extent.marks.partition_point(|mark| mark.first <= position);
            extent.marks.get(after.saturating_sub(1)).copied()
        };
        let Some(mark) = mark else { return Ok(None) };
        let place = self.place_at(mark.offset)?;
        if let Some(found) = &place
            && found.header.first_position != mark.first
        {
            return Err(self.corrupt(mark.offset, None, &"another frame than the one that stood there"));
        }
        Ok(place)
    }

    /// A frame stands there, as was seen in passing: the next search begins nearer to what it looks for.
    pub(super) fn note_passed(&self, first: Position, offset: u64) {
        let is_new =
            |extent: &Extent| extent.marks.last().is_none_or(|mark| offset >= mark.offset + FRAME_MARK_BYTES);
        if is_new(&self.extent.read().unwrap_or_else(PoisonError::into_inner)) {
            let mut extent = self.extent.write().unwrap_or_else(PoisonError::into_inner);
            if is_new(&extent) {
                extent.marks.push(Mark { first, offset });
            }
        }
    }

    /// The frame right behind this one; `None` at the durable end.
    pub(super) fn following(&self, place: &FramePlace) -> Result<Option<FramePlace>, ReadError> {
        let (offset, last) = (place.offset + place.header.stored_bytes, place.header.last_position());
        // Headers are not authentic before their frames are opened: what they say must not skip an event.
        let found = self.place_at(offset)?;
        let goes_on = match &found {
            Some(next) => Some(next.header.first_position) == last.next(),
            None => self.last.is_none_or(|end| last == end),
        };
        if !goes_on {
            let what = format!("a frame that goes on after position {last} expected");
            return Err(self.corrupt(offset, Some(place), &what));
        }
        if let Some(next) = &found {
            self.note_passed(next.header.first_position, next.offset);
        }
        Ok(found)
    }

    fn place_at(&self, offset: u64) -> Result<Option<FramePlace>, ReadError> {
        let end = self.extent.read().unwrap_or_else(PoisonError::into_inner).end;
        if offset >= end {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| self.disk_error(&error))?;
        let header = FrameHeader::parse(&bytes).map_err(|error| self.corrupt(offset, None, &error))?;
        Ok(Some(FramePlace::stored(offset, &header)))
    }

    /// The frame with this position is looked for soon: the disk may begin, as far as is known where it stands.
    pub(super) fn expect_search(&self, position: Position) {
        let extent = self.extent.read().unwrap_or_else(PoisonError::into_inner);
        let after = extent.marks.partition_point(|mark| mark.first <= position);
        let Some(mark) = after.checked_sub(1).and_then(|index| extent.marks.get(index)) else { return };
        let end = extent.marks.get(after).map_or(extent.end, |next| next.offset);
        let (offset, bytes) = (mark.offset, end.saturating_sub(mark.offset));
        drop(extent);
        if bytes <= MAX_EXPECTED_BYTES {
            self.file.expect_read(offset, bytes);
        }
    }

    /// The frame is opened soon: the disk may begin.
    pub(super) fn expect_read(&self, place: &FramePlace) {
        self.file.expect_read(place.offset, place.header.stored_bytes);
    }

    /// The body of a frame: authenticated, then decompressed to exactly its stated size.
    pub(super) fn open(
        &self,
        place: &FramePlace,
        decompressor: &mut Decompressor,
    ) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; usize::try_from(place.header.stored_bytes).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut bytes, place.offset).map_err(|error| self.disk_error(&error))?;
        let frame =
            StoredFrame::parse(&bytes).map_err(|error| self.corrupt(place.offset, Some(place), &error))?;
        if FrameOutline::of(frame.header()) != place.header {
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

    fn corrupt(&self, offset: u64, place: Option<&FramePlace>, what: &dyn std::fmt::Display) -> ReadError {
        corrupt(&shown(self.number), self.first, (offset, place), what)
    }

    fn disk_error(&self, error: &std::io::Error) -> ReadError {
        ReadError::Disk { file: shown(self.number), what: error.to_string() }
    }
}
