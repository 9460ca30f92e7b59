//! A segment in its file: how a frame in it is found and opened.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bitacora_formats::{
    Decompressor, FRAME_HEADER_BYTES, FrameHeader, FrameOpenError, FrameOpener, Micros, Position,
    SegmentHeader, SegmentNumber, StoredFrame,
};

use super::survey::{FrameSurvey, GapSide, PositionGap};
use super::{FrameEntry, FrameOutline, corrupt, partition_point, shown};
use crate::host::disk::DiskFile;
use crate::host::lock_order::{OrderedMutex, OrderedRwLock};
use crate::limits::{FRAME_MARK_BYTES, MAX_EXPECTED_BYTES, MAX_KNOWN_FRAMES};
use crate::log_fault::LogFault;
use crate::read_error::ReadError;
use crate::segments::damage_reports::DamageReports;

/// A segment in its file.
pub(super) struct StoredSegment {
    number: SegmentNumber,
    first: Position,
    file: Arc<dyn DiskFile>,
    opener: FrameOpener,
    /// The position of its last event, where it was opened without being read.
    last: Option<Position>,
    extent: OrderedRwLock<Extent>,
    /// Its whole frames, once one was found that is damaged.
    survey: OrderedMutex<Option<FrameSurvey>>,
    /// Offsets of frames that were opened to know that their headers are authentic.
    known: OrderedMutex<Vec<u64>>,
    /// The receiver of reports of damage that is found here.
    reports: OnceLock<Arc<DamageReports>>,
}

/// The durable extent of the segment, and the places of some of its frames.
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
        let extent = OrderedRwLock::new(Extent { marks: Vec::new(), end: 0 });
        let (survey, known, reports) = (OrderedMutex::default(), OrderedMutex::default(), OnceLock::new());
        Self { number, first, file, opener, last: None, extent, survey, known, reports }
    }

    /// A segment that ended, of which only the header was read: its frames stand there, and hold the events up to `last`.
    pub(super) fn ended(
        header: &SegmentHeader,
        file: Arc<dyn DiskFile>,
        opener: FrameOpener,
        frames: Range<u64>,
        last: Option<Position>,
    ) -> Self {
        let marks = vec![Mark { first: header.first_position, offset: frames.start }];
        let extent = OrderedRwLock::new(Extent { marks, end: frames.end });
        let (number, first, survey, known) =
            (header.number, header.first_position, OrderedMutex::default(), OrderedMutex::default());
        Self { number, first, file, opener, last, extent, survey, known, reports: OnceLock::new() }
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        self.extent.read().end
    }

    /// Tells of damage there from now on.
    pub(super) fn report_to(&self, reports: &Arc<DamageReports>) {
        self.reports.get_or_init(|| Arc::clone(reports));
    }

    pub(super) fn report(&self, fault: &LogFault) {
        if let Some(reports) = self.reports.get() {
            reports.report(fault);
        }
    }

    /// A frame is durable there. Called in order.
    pub(super) fn note_frame(&self, first: Position, offset: u64, stored_bytes: u64) {
        let mut extent = self.extent.write();
        if extent.marks.last().is_none_or(|mark| offset >= mark.offset + FRAME_MARK_BYTES) {
            extent.marks.push(Mark { first, offset });
        }
        extent.end = offset + stored_bytes;
    }

    /// The frame that holds `position`. In a segment that is damaged, frames are found by opening them.
    pub(super) fn find(&self, position: Position) -> Result<Option<FrameEntry>, ReadError> {
        if self.is_surveyed() {
            return self.find_surveyed(position);
        }
        match self.find_by_headers(position) {
            Err(ReadError::Corrupt(_)) => self.find_surveyed(position),
            found => found,
        }
    }

    fn find_by_headers(&self, position: Position) -> Result<Option<FrameEntry>, ReadError> {
        let mut place = self.at_mark_before(position)?;
        while let Some(found) = place {
            if found.header.last_position() >= position {
                return Ok(Some(found));
            }
            place = self.next_by_header(&found)?;
        }
        Ok(None)
    }

    fn find_surveyed(&self, position: Position) -> Result<Option<FrameEntry>, ReadError> {
        let bounds = (self.first, self.last);
        self.with_survey(|survey| survey.find(position, bounds))?.map_err(|hole| self.lost(hole))
    }

    fn is_surveyed(&self) -> bool {
        self.survey.lock().is_some()
    }

    /// Asks the survey, which is made now, or goes on over what was written since. It is the second look after a read that found damage: what
    /// does not open now either is told to the ledger.
    fn with_survey<T>(&self, ask: impl FnOnce(&FrameSurvey) -> T) -> Result<T, ReadError> {
        let (start, end) = {
            let extent = self.extent.read();
            (extent.marks.first().map_or(extent.end, |mark| mark.offset), extent.end)
        };
        let mut kept = self.survey.lock();
        let from = kept.as_ref().map_or(start, FrameSurvey::until);
        let survey = kept.get_or_insert_default();
        if from < end {
            let mut bytes = vec![0; usize::try_from(end - from).unwrap_or(usize::MAX)];
            if let Err(error) = self.file.read_exact_at(&mut bytes, from) {
                *kept = None;
                drop(kept);
                return Err(self.unreadable(from, &error));
            }
            survey.extend(from, &bytes, self.first, &self.opener);
        }
        let (answer, hole) = (ask(survey), survey.first_hole(start, (self.first, self.last)));
        drop(kept);
        if let Some(hole) = hole {
            self.report(&self.fault(hole));
        }
        Ok(answer)
    }

    fn lost(&self, hole: PositionGap) -> ReadError {
        ReadError::Corrupt(self.fault(hole))
    }

    fn fault(&self, hole: PositionGap) -> LogFault {
        LogFault {
            file: shown(self.number),
            offset: hole.offset,
            first_position: hole.first.get(),
            last_position: hole.last.map(Position::get),
            what: "a frame that opens was expected, none was found".to_owned(),
        }
    }

    /// The frames that open, and where they stand.
    pub(super) fn whole_frames(&self) -> Result<Vec<(u64, FrameOutline)>, ReadError> {
        self.with_survey(|survey| survey.frames().to_vec())
    }

    /// The time of the first frame.
    pub(super) fn first_time(&self) -> Result<Option<Micros>, ReadError> {
        let place = self.find(self.first)?;
        match place {
            Some(place) if self.is_authentic(&place) => Ok(Some(place.header.time)),
            None => Ok(None),
            Some(_) => Ok(self.find_surveyed(self.first)?.map(|place| place.header.time)),
        }
    }

    /// The first position of the first frame at `time` or later; `None` where the segment ends before. Where damage hides which one that is,
    /// the side of the damage that is asked for.
    pub(super) fn first_at(&self, time: Micros, side: GapSide) -> Result<Option<Position>, ReadError> {
        if !self.is_surveyed() {
            match self.first_by_headers(time) {
                // A header may say any time before its frame is opened. What lies between these two is the answer.
                Ok((before, found))
                    if [&before, &found].into_iter().flatten().all(|at| self.is_authentic(at)) =>
                {
                    return Ok(found.map(|place| place.header.first_position));
                }
                Ok(_) | Err(ReadError::Corrupt(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.with_survey(|survey| survey.first_at(time, side, (self.first, self.last)))
    }

    /// The first frame at `time` or later, and the one before it. Frame times never go back, so marks are searched by halves, and the
    /// frames behind one of them in order.
    fn first_by_headers(&self, time: Micros) -> Result<(Option<FrameEntry>, Option<FrameEntry>), ReadError> {
        let offsets: Vec<u64> = {
            let extent = self.extent.read();
            extent.marks.iter().map(|mark| mark.offset).collect()
        };
        let at_or_after = |offset: u64| {
            let place = self.place_at(offset)?;
            Ok(place.filter(|place| place.header.time < time).is_none())
        };
        let before = partition_point(&offsets, |offset| at_or_after(*offset).map(|later| !later))?;
        let mut before_it = None;
        let mut place = match offsets.get(before.saturating_sub(1)) {
            Some(offset) => self.place_at(*offset)?,
            None => None,
        };
        while let Some(found) = place {
            if found.header.time >= time {
                return Ok((before_it, Some(found)));
            }
            place = self.next_by_header(&found)?;
            before_it = Some(found);
        }
        Ok((before_it, None))
    }

    /// Returns `true` where the frame opens: its header then says what was written.
    fn is_authentic(&self, place: &FrameEntry) -> bool {
        if self.known.lock().contains(&place.offset) {
            return true;
        }
        let opens = self.open_with(place, FrameOpener::open).is_ok();
        let mut known = self.known.lock();
        if opens && known.len() < MAX_KNOWN_FRAMES {
            known.push(place.offset);
        }
        opens
    }

    fn at_mark_before(&self, position: Position) -> Result<Option<FrameEntry>, ReadError> {
        let mark = {
            let extent = self.extent.read();
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
        if is_new(&self.extent.read()) {
            let mut extent = self.extent.write();
            if is_new(&extent) {
                extent.marks.push(Mark { first, offset });
            }
        }
    }

    /// The frame right behind this one; `None` at the durable end.
    pub(super) fn following(&self, place: &FrameEntry) -> Result<Option<FrameEntry>, ReadError> {
        let next = place.header.last_position().next();
        match self.next_by_header(place) {
            Err(ReadError::Corrupt(_)) => next.map_or(Ok(None), |next| self.find_surveyed(next)),
            found => found,
        }
    }

    fn next_by_header(&self, place: &FrameEntry) -> Result<Option<FrameEntry>, ReadError> {
        if self.last == Some(place.header.last_position()) {
            return Ok(None);
        }
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

    fn place_at(&self, offset: u64) -> Result<Option<FrameEntry>, ReadError> {
        let end = self.extent.read().end;
        if offset >= end {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| self.unreadable(offset, &error))?;
        let header = FrameHeader::parse(&bytes).map_err(|error| self.corrupt(offset, None, &error))?;
        Ok(Some(FrameEntry::stored(offset, &header)))
    }

    /// The frame with this position is looked for soon: the disk may begin, as far as is known where it stands.
    pub(super) fn expect_search(&self, position: Position) {
        let extent = self.extent.read();
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
    pub(super) fn expect_read(&self, place: &FrameEntry) {
        self.file.expect_read(place.offset, place.header.stored_bytes);
    }

    /// The body of a frame: authenticated, then decompressed to exactly its stated size. Once one is not, frames are no more found by
    /// their headers.
    pub(super) fn open(
        &self,
        place: &FrameEntry,
        decompressor: &mut Decompressor,
    ) -> Result<Vec<u8>, ReadError> {
        let opened = self.open_with(place, |opener, frame| opener.open_body(frame, decompressor));
        if let Err(ReadError::Corrupt(fault)) = &opened {
            self.with_survey(|_| ())?;
            self.report(fault);
        }
        opened
    }

    fn open_with<T>(
        &self,
        place: &FrameEntry,
        open: impl FnOnce(&FrameOpener, &StoredFrame<'_>) -> Result<T, FrameOpenError>,
    ) -> Result<T, ReadError> {
        let corrupt = |what: &dyn std::fmt::Display| self.corrupt(place.offset, Some(place), what);
        let mut bytes = vec![0; usize::try_from(place.header.stored_bytes).unwrap_or(usize::MAX)];
        let read = self.file.read_exact_at(&mut bytes, place.offset);
        read.map_err(|error| self.unreadable(place.offset, &error))?;
        let frame = StoredFrame::parse(&bytes).map_err(|error| corrupt(&error))?;
        if FrameOutline::of(frame.header()) != place.header {
            return Err(corrupt(&"the frame's header changed between two reads"));
        }
        open(&self.opener, &frame).map_err(|error| corrupt(&error))
    }

    fn corrupt(&self, offset: u64, place: Option<&FrameEntry>, what: &dyn std::fmt::Display) -> ReadError {
        corrupt(&shown(self.number), self.first, (offset, place), what)
    }

    /// Returns the error of bytes that the disk does not give. A file that ends before bytes that were durable was cut, which is damage and does
    /// not pass.
    fn unreadable(&self, offset: u64, error: &io::Error) -> ReadError {
        if error.kind() != io::ErrorKind::UnexpectedEof {
            return ReadError::Disk { file: shown(self.number), what: error.to_string() };
        }
        let cut = self.corrupt(offset, None, &"the file was cut");
        if let ReadError::Corrupt(fault) = &cut {
            self.report(fault);
        }
        cut
    }
}
