//! The segments that hold events: they find and open a frame wherever its bytes are.

mod archived;
pub(crate) mod census;
pub(crate) mod damage_reports;
pub(crate) mod decompressors;
mod file_names;
mod lost;
pub(crate) mod quarantine;
pub(crate) mod recent_frames;
pub(crate) mod segment_file;
mod stored;
mod survey;

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use bitacora_formats::{
    ChainHash, Decompressor, FrameHeader, FrameOpener, Micros, Position, ReleasedSegment, SegmentHeader,
    SegmentNumber, TreeHash,
};

use self::archived::ArchivedSegment;
use self::file_names::shown;
pub(crate) use self::file_names::{
    SEGMENTS, released_file_name, released_number, segment_file_name, segment_number, segments_folder,
};
use self::lost::LostSegment;
use self::stored::StoredSegment;
pub(crate) use self::survey::GapSide;
use crate::archive_tier::{ArchiveTier, ArchivedEvent, ArchivedFrame};
use crate::host::disk::DiskFile;
use crate::host::lock_order::{LockRank, OrderedMutex, OrderedMutexGuard, OrderedRwLock};
use crate::log_fault::LogFault;
use crate::query::Filter;
use crate::read_error::ReadError;
use crate::segments::damage_reports::DamageReports;

/// A segment with at least one durable frame, as readers see it.
pub(crate) struct Segment {
    pub(crate) number: SegmentNumber,
    pub(crate) first: Position,
    storage: SegmentStorage,
}

/// The place of a segment's frames.
enum SegmentStorage {
    File(StoredSegment),
    Archives(ArchivedSegment),
    /// Nowhere: a read there returns the damage by which they are lost.
    Lost(LostSegment),
}

impl Segment {
    pub(crate) fn new(
        number: SegmentNumber,
        first: Position,
        file: Arc<dyn DiskFile>,
        opener: FrameOpener,
    ) -> Self {
        Self { number, first, storage: SegmentStorage::File(StoredSegment::new(number, first, file, opener)) }
    }

    /// A segment that ended, of which only the header was read. Its frames stand there, and hold the events up to `last`, where that is
    /// known.
    pub(crate) fn ended(
        header: &SegmentHeader,
        file: Arc<dyn DiskFile>,
        opener: FrameOpener,
        frames: Range<u64>,
        last: Option<Position>,
    ) -> Self {
        let storage = SegmentStorage::File(StoredSegment::ended(header, file, opener, frames, last));
        Self { number: header.number, first: header.first_position, storage }
    }

    /// A segment that was released; `end_root` is the root of the tree after its last event.
    pub(crate) fn released(
        released: &ReleasedSegment,
        end_root: TreeHash,
        tier: Arc<dyn ArchiveTier>,
    ) -> Self {
        let storage = SegmentStorage::Archives(ArchivedSegment::new(released, end_root, tier));
        Self { number: released.header.number, first: released.header.first_position, storage }
    }

    /// Positions that are lost, from segment `number` on; `fault` says which. Whole segments stand before and behind them.
    pub(crate) fn lost(number: SegmentNumber, first: Position, fault: LogFault) -> Self {
        Self { number, first, storage: SegmentStorage::Lost(LostSegment::new(fault)) }
    }

    /// Returns `true` where nothing of it can be read.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.storage, SegmentStorage::Lost(_))
    }

    /// The frames of a segment in its file that open, and where they stand. From now on they are found by that.
    pub(crate) fn whole_frames(&self) -> Result<Vec<(u64, FrameOutline)>, ReadError> {
        match &self.storage {
            SegmentStorage::File(stored) => stored.whole_frames(),
            SegmentStorage::Archives(_) | SegmentStorage::Lost(_) => Ok(Vec::new()),
        }
    }

    /// Archives in the place of segments from `number` on that are damaged; `None` where they do not hold them.
    pub(crate) fn archived(
        number: SegmentNumber,
        (first, last): (Position, Position),
        end_root: TreeHash,
        tier: Arc<dyn ArchiveTier>,
    ) -> Option<Self> {
        let archived = ArchivedSegment::standing_in(first, last, end_root, tier)?;
        Some(Self { number, first, storage: SegmentStorage::Archives(archived) })
    }

    /// Returns `true` where it was let go.
    pub(crate) fn is_released(&self) -> bool {
        matches!(&self.storage, SegmentStorage::Archives(archived) if !archived.stands_in())
    }

    /// Returns `true` where its frames are read from archives.
    pub(crate) fn is_archived(&self) -> bool {
        matches!(self.storage, SegmentStorage::Archives(_))
    }

    /// A frame is durable there. Called in order.
    pub(crate) fn note_frame(&self, first: Position, offset: u64, stored_bytes: u64) {
        if let SegmentStorage::File(stored) = &self.storage {
            stored.note_frame(first, offset, stored_bytes);
        }
    }

    /// The frame that holds `position`, or the first one after it.
    pub(crate) fn find(&self, position: Position) -> Result<Option<FrameEntry>, ReadError> {
        match &self.storage {
            SegmentStorage::File(stored) => stored.find(position),
            SegmentStorage::Archives(archived) => archived.find(position),
            SegmentStorage::Lost(lost) => Err(lost.error()),
        }
    }

    /// The events at these positions of a segment that was released, and of those beside it that were too, by themselves: the first,
    /// and those behind it as far as they can be had and until there are `max_bytes` of them. `None` where it was not released.
    pub(crate) fn archived_events(
        &self,
        positions: &[Position],
        max_bytes: usize,
    ) -> Result<Option<Vec<ArchivedEvent>>, ReadError> {
        match &self.storage {
            SegmentStorage::File(_) | SegmentStorage::Lost(_) => Ok(None),
            SegmentStorage::Archives(archived) => archived.events(positions, max_bytes).map(Some),
        }
    }

    /// Positions around this one without any event that has the filter's labels, as archives tell without giving the events; `None` where
    /// they do not tell it, and of a segment that was not released.
    pub(crate) fn gap_around(&self, filter: &Filter, position: Position) -> Option<RangeInclusive<Position>> {
        match &self.storage {
            SegmentStorage::File(_) | SegmentStorage::Lost(_) => None,
            SegmentStorage::Archives(archived) => archived.gap_around(filter, position),
        }
    }

    /// The time of the first frame.
    fn first_time(&self) -> Result<Option<Micros>, ReadError> {
        match &self.storage {
            SegmentStorage::File(stored) => stored.first_time(),
            SegmentStorage::Archives(archived) => Ok(Some(archived.first_time())),
            SegmentStorage::Lost(lost) => Err(lost.error()),
        }
    }

    /// The first position of the first frame at `time` or later; `None` where the segment ends before. Where damage hides which one
    /// that is, the side of the damage that is asked for.
    fn first_at(&self, time: Micros, side: GapSide) -> Result<Option<Position>, ReadError> {
        match &self.storage {
            SegmentStorage::File(stored) => stored.first_at(time, side),
            SegmentStorage::Archives(archived) => archived.first_at(time),
            SegmentStorage::Lost(_) => Ok(Some(self.first).filter(|_| side == GapSide::Before)),
        }
    }

    /// A frame stands there, as was seen in passing: the next search begins nearer to what it looks for.
    pub(crate) fn note_passed(&self, first: Position, offset: u64) {
        if let SegmentStorage::File(stored) = &self.storage {
            stored.note_passed(first, offset);
        }
    }

    /// The frame right behind this one; `None` at the durable end.
    pub(crate) fn following(&self, place: &FrameEntry) -> Result<Option<FrameEntry>, ReadError> {
        match &self.storage {
            SegmentStorage::File(stored) => stored.following(place),
            SegmentStorage::Archives(archived) => archived.following(place),
            SegmentStorage::Lost(lost) => Err(lost.error()),
        }
    }

    /// The frame with this position is looked for soon: the disk may begin, as far as is known where it stands.
    pub(crate) fn expect_search(&self, position: Position) {
        if let SegmentStorage::File(stored) = &self.storage {
            stored.expect_search(position);
        }
    }

    /// The frame is opened soon: the disk may begin.
    pub(crate) fn expect_read(&self, place: &FrameEntry) {
        if let SegmentStorage::File(stored) = &self.storage {
            stored.expect_read(place);
        }
    }

    /// The body of a frame: authenticated, then decompressed to exactly its stated size.
    pub(crate) fn open(
        &self,
        place: &FrameEntry,
        decompressor: &mut Decompressor,
    ) -> Result<Arc<Vec<u8>>, ReadError> {
        match (&place.body, &self.storage) {
            (Some(body), _) => Ok(Arc::clone(body)),
            (None, SegmentStorage::File(stored)) => stored.open(place, decompressor).map(Arc::new),
            (None, SegmentStorage::Archives(archived)) => {
                let found = archived.find(place.header.first_position)?;
                found
                    .and_then(|found| found.body)
                    .ok_or_else(|| self.corrupt(0, Some(place), &"the archives no longer hold the frame"))
            }
            (None, SegmentStorage::Lost(lost)) => Err(lost.error()),
        }
    }

    /// The root that the frame states which ends with this position. A head is always made of a frame's end. Where the frame lies
    /// in a segment that the opening did not read, the background scrub compares it with the chain; of a released one only the root at its
    /// end is known.
    pub(crate) fn root_after(&self, last: Position) -> Option<TreeHash> {
        if let SegmentStorage::Archives(archived) = &self.storage {
            return archived.root_after(last);
        }
        let place = self.find(last).ok()??;
        let links = place.header.links.filter(|_| place.header.last_position() == last)?;
        Some(links.tree_root)
    }

    /// Its file, relative to the ledger's folder.
    pub(crate) fn file(&self) -> String {
        match &self.storage {
            SegmentStorage::File(_) => shown(self.number),
            SegmentStorage::Archives(_) => format!("{SEGMENTS}/{}", released_file_name(self.number)),
            SegmentStorage::Lost(lost) => lost.file().to_owned(),
        }
    }

    /// Returns the error of a read that found damage. Of a segment in its file the ledger hears of it; what archives give is damage to
    /// them, which are elsewhere.
    pub(crate) fn corrupt(
        &self,
        offset: u64,
        place: Option<&FrameEntry>,
        what: &dyn std::fmt::Display,
    ) -> ReadError {
        let error = corrupt(&self.file(), self.first, (offset, place), what);
        if let (SegmentStorage::File(stored), ReadError::Corrupt(fault)) = (&self.storage, &error) {
            stored.report(fault);
        }
        error
    }
}

/// Damage to a segment that begins with `first`, in its file there.
fn corrupt(
    file: &str,
    first: Position,
    (offset, place): (u64, Option<&FrameEntry>),
    what: &dyn std::fmt::Display,
) -> ReadError {
    let first_position = place.map_or(first, |place| place.header.first_position).get();
    let last_position = place.map(|place| place.header.last_position().get());
    let (file, what) = (file.to_owned(), what.to_string());
    ReadError::Corrupt(LogFault { file, offset, first_position, last_position, what })
}

/// The place of a frame, and its outline.
#[derive(Clone)]
pub(crate) struct FrameEntry {
    /// In its segment's file.
    pub(crate) offset: u64,
    pub(crate) header: FrameOutline,
    /// Of a frame that was read to be found: one in an archive.
    pub(crate) body: Option<Arc<Vec<u8>>>,
}

impl FrameEntry {
    pub(crate) fn stored(offset: u64, header: &FrameHeader) -> Self {
        Self { offset, header: FrameOutline::of(header), body: None }
    }
}

/// A frame by its place among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameOutline {
    pub(crate) first_position: Position,
    pub(crate) count: u32,
    pub(crate) time: Micros,
    /// Bytes of its body.
    pub(crate) body_bytes: u32,
    /// Bytes that it takes in its segment's file; none in an archive.
    pub(crate) stored_bytes: u64,
    /// `None` of a frame in an archive, which keeps what they commit to by its own roots.
    pub(crate) links: Option<FrameLinks>,
}

/// The links from a stored frame to what lies before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameLinks {
    /// The chain hash before it.
    pub(crate) previous: ChainHash,
    /// The root over all events up to its end.
    pub(crate) tree_root: TreeHash,
}

impl FrameOutline {
    pub(crate) fn of(header: &FrameHeader) -> Self {
        Self {
            first_position: header.first_position,
            count: header.count,
            time: header.time,
            body_bytes: header.body_bytes,
            stored_bytes: header.stored_bytes() as u64,
            links: Some(FrameLinks { previous: header.previous, tree_root: header.tree_root }),
        }
    }

    pub(crate) fn of_archived(frame: &ArchivedFrame) -> Self {
        Self {
            first_position: frame.first_position,
            count: frame.count,
            time: frame.time,
            body_bytes: u32::try_from(frame.body.len()).unwrap_or(u32::MAX),
            stored_bytes: 0,
            links: None,
        }
    }

    pub(crate) fn last_position(&self) -> Position {
        self.first_position.plus(u64::from(self.count.saturating_sub(1))).unwrap_or(self.first_position)
    }

    pub(crate) fn positions(&self) -> RangeInclusive<Position> {
        self.first_position..=self.last_position()
    }
}

/// All segments with durable events, in order.
pub(crate) struct Segments {
    list: OrderedRwLock<Vec<Arc<Segment>>>,
    releasing: OrderedMutex<()>,
    reports: Arc<DamageReports>,
}

impl Default for Segments {
    fn default() -> Self {
        let (list, reports) = (OrderedRwLock::default(), Arc::default());
        Self { list, releasing: OrderedMutex::new(LockRank::Release, ()), reports }
    }
}

impl Segments {
    /// Takes in a segment. From now on it tells of damage that reads find in it.
    pub(crate) fn add(&self, segment: Arc<Segment>) {
        if let SegmentStorage::File(stored) = &segment.storage {
            stored.report_to(&self.reports);
        }
        self.list.write().push(segment);
    }

    pub(crate) fn reports(&self) -> &DamageReports {
        &self.reports
    }

    pub(crate) fn len(&self) -> usize {
        self.list.read().len()
    }

    /// The segment that holds `position`, if it is durable.
    pub(crate) fn holding(&self, position: Position) -> Option<Arc<Segment>> {
        let list = self.list.read();
        let after = list.partition_point(|segment| segment.first <= position);
        list.get(after.checked_sub(1)?).cloned()
    }

    /// The first position recorded at `time` or later; `None` where all that is durable is older. Where damage hides which one that is,
    /// the side of the damage that is asked for.
    pub(crate) fn first_at(&self, time: Micros, side: GapSide) -> Result<Option<Position>, ReadError> {
        let list = self.list.read().clone();
        let older = |segment: &Arc<Segment>| Ok(segment.first_time()?.is_none_or(|first| first < time));
        let before = match partition_point(&list, older) {
            // Damage has no time.
            Err(ReadError::Corrupt(_)) => {
                list.iter().rposition(|segment| older(segment).unwrap_or(false)).map_or(0, |last| last + 1)
            }
            before => before?,
        };
        let candidates = list.get(before.saturating_sub(1)..).unwrap_or_default();
        for segment in candidates {
            if let Some(position) = segment.first_at(time, side)? {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    /// The last position of the last released segment. Segments are released in order, and never the last one.
    pub(crate) fn released_through(&self) -> Option<Position> {
        let list = self.list.read();
        let here = list.partition_point(|segment| segment.is_released());
        let next = list.get(here).filter(|_| here > 0)?;
        Position::new(next.first.get() - 1)
    }

    /// Puts the remainder of a segment in its place. A holder of the segment goes on reading its file.
    pub(crate) fn release(&self, released: Segment) {
        let mut list = self.list.write();
        if let Some(segment) = list.iter_mut().find(|segment| segment.number == released.number) {
            *segment = Arc::new(released);
        }
    }

    /// Segments are released by one at a time.
    pub(crate) fn releasing(&self) -> OrderedMutexGuard<'_, ()> {
        self.releasing.lock()
    }

    /// The first segment that was not released and has ended, with its last position.
    pub(crate) fn first_here(&self) -> Option<(Arc<Segment>, Position)> {
        let list = self.list.read();
        let here = list.partition_point(|segment| segment.is_released());
        let (segment, next) = (list.get(here)?, list.get(here + 1)?);
        Some((Arc::clone(segment), Position::new(next.first.get() - 1)?))
    }

    /// The same damage with the last position that is lost by it, where what is whole behind it tells that.
    pub(crate) fn bounded(&self, fault: LogFault) -> LogFault {
        let first = Position::new(fault.first_position);
        let Some((first, segment)) = first.and_then(|first| Some((first, self.holding(first)?))) else {
            return fault;
        };
        let met = segment.whole_frames().and_then(|_| segment.find(first));
        match met {
            Err(ReadError::Corrupt(met)) if met.first_position == fault.first_position => {
                LogFault { last_position: met.last_position, ..fault }
            }
            _ => fault,
        }
    }

    /// All of them, in order.
    pub(crate) fn all(&self) -> Vec<Arc<Segment>> {
        self.list.read().clone()
    }

    /// The segment after this one.
    pub(crate) fn after(&self, segment: &Segment) -> Option<Arc<Segment>> {
        let list = self.list.read();
        let at = list.partition_point(|other| other.first <= segment.first);
        list.get(at).cloned()
    }
}

/// Returns the number of items at the beginning for which `holds` is true; it has to be false of all others.
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
