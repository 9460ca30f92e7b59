//! The segments that hold events, and how a frame in one of them is found and opened.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bitacora_formats::{
    Decompressor, FRAME_HEADER_BYTES, FrameHeader, FrameOpener, Micros, Position, SegmentHeader,
    SegmentNumber, StoredFrame,
};

use crate::disk::DiskFile;
use crate::error::ReadError;
use crate::fault::Fault;
use crate::limits::{FRAME_MARK_BYTES, MAX_EXPECTED_BYTES};

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

/// The name of the folder of segments in the ledger's.
pub(crate) const SEGMENTS: &str = "segments";

pub(crate) fn segments_folder(ledger: &Path) -> PathBuf {
    ledger.join(SEGMENTS)
}

/// A segment with at least one durable frame, as readers see it.
pub(crate) struct Segment {
    pub(crate) number: SegmentNumber,
    pub(crate) first: Position,
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

impl Segment {
    pub(crate) fn new(
        number: SegmentNumber,
        first: Position,
        file: Arc<dyn DiskFile>,
        opener: FrameOpener,
    ) -> Self {
        let extent = RwLock::new(Extent { marks: Vec::new(), end: 0 });
        Self { number, first, file, opener, last: None, extent }
    }

    /// A segment that ended, of which only the header was read: its frames stand there, and hold the events up to `last`.
    pub(crate) fn ended(
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
    pub(crate) fn note_frame(&self, first: Position, offset: u64, stored_bytes: u64) {
        let mut extent = self.extent.write().unwrap_or_else(PoisonError::into_inner);
        if extent.marks.last().is_none_or(|mark| offset >= mark.offset + FRAME_MARK_BYTES) {
            extent.marks.push(Mark { first, offset });
        }
        extent.end = offset + stored_bytes;
    }

    /// The frame that holds `position`, or the first one after it.
    pub(crate) fn find(&self, position: Position) -> Result<Option<FramePlace>, ReadError> {
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
    fn first_time(&self) -> Result<Option<Micros>, ReadError> {
        Ok(self.find(self.first)?.map(|place| place.header.time))
    }

    /// The first position of the first frame at `time` or later; `None` where the segment ends before. Frame times never
    /// go back, so marks are searched by halves, and the frames behind one of them in order.
    fn first_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
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
    pub(crate) fn note_passed(&self, first: Position, offset: u64) {
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
    pub(crate) fn following(&self, place: &FramePlace) -> Result<Option<FramePlace>, ReadError> {
        let (offset, last) =
            (place.offset + place.header.stored_bytes() as u64, place.header.last_position());
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
        Ok(Some(FramePlace { offset, header }))
    }

    /// The frame with this position is looked for soon: the disk may begin, as far as is known where it stands.
    pub(crate) fn expect_search(&self, position: Position) {
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
    pub(crate) fn expect_read(&self, place: &FramePlace) {
        self.file.expect_read(place.offset, place.header.stored_bytes() as u64);
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

    /// The first position recorded at `time` or later; `None` where all that is durable is older.
    pub(crate) fn first_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner).clone();
        let older = |segment: &Arc<Segment>| Ok(segment.first_time()?.is_none_or(|first| first < time));
        let before = partition_point(&list, older)?;
        let (older, later) = list.split_at_checked(before).unwrap_or_default();
        match older.last().map(|segment| segment.first_at(time)).transpose()?.flatten() {
            Some(position) => Ok(Some(position)),
            None => Ok(later.first().map(|segment| segment.first)),
        }
    }

    /// The segment after this one.
    pub(crate) fn after(&self, segment: &Segment) -> Option<Arc<Segment>> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        let at = list.partition_point(|other| other.number <= segment.number);
        list.get(at).cloned()
    }
}

/// How many items at the beginning `holds` is true of, where it is true of those at the beginning alone.
fn partition_point<T, E>(items: &[T], mut holds: impl FnMut(&T) -> Result<bool, E>) -> Result<usize, E> {
    let (mut low, mut high) = (0, items.len());
    while low < high {
        let middle = low.midpoint(high);
        match items.get(middle).map(&mut holds).transpose()? {
            Some(true) => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}
