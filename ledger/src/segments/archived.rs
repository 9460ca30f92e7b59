//! A segment that was released: its frames are read from archives.

use std::ops::RangeInclusive;
use std::sync::Arc;

use bitacora_formats::{Micros, Position, ReleasedSegment, TreeHash};

use super::{FrameEntry, FrameOutline};
use crate::archive_tier::{
    ArchiveTier, ArchiveTierError, ArchiveTierErrorKind, ArchivedEvent, ArchivedFrame,
};
use crate::query::Filter;
use crate::read_error::ReadError;

/// A released segment: its known facts, and the place of its frames.
pub(super) struct ArchivedSegment {
    first: Position,
    last: Position,
    first_time: Micros,
    end_root: TreeHash,
    tier: Arc<dyn ArchiveTier>,
    /// `true`: its file is damaged, and the archives stand in for it.
    stands_in: bool,
}

impl ArchivedSegment {
    /// `end_root` is the root of the tree after its last event.
    pub(super) fn new(released: &ReleasedSegment, end_root: TreeHash, tier: Arc<dyn ArchiveTier>) -> Self {
        let ReleasedSegment { header, last_position, .. } = released;
        let (first, last, first_time) = (header.first_position, *last_position, released.first_time());
        Self { first, last, first_time, end_root, tier, stands_in: false }
    }

    /// Archives in the place of what is damaged, where they hold both its ends.
    pub(super) fn standing_in(
        first: Position,
        last: Position,
        end_root: TreeHash,
        tier: Arc<dyn ArchiveTier>,
    ) -> Option<Self> {
        let first_time = tier.frame(first).ok()?.time;
        let segment = Self { first, last, first_time, end_root, tier, stands_in: true };
        [first, last].into_iter().all(|at| matches!(segment.find(at), Ok(Some(_)))).then_some(segment)
    }

    pub(super) fn stands_in(&self) -> bool {
        self.stands_in
    }

    /// The frame that holds `position`, read already, since there is no other way to find it.
    pub(super) fn find(&self, position: Position) -> Result<Option<FrameEntry>, ReadError> {
        if position > self.last {
            return Ok(None);
        }
        let frame = self.tier.frame(position).map_err(ReadError::Archive)?;
        let header = FrameOutline::of_archived(&frame);
        let is_within = self.first <= header.first_position && header.last_position() <= self.last;
        if !is_within || !header.positions().contains(&position) {
            return Err(self.another(&frame));
        }
        Ok(Some(FrameEntry { offset: 0, header, body: Some(frame.body) }))
    }

    /// The events at these positions, as [`ArchiveTier::events`] gives them.
    pub(super) fn events(
        &self,
        positions: &[Position],
        max_bytes: usize,
    ) -> Result<Vec<ArchivedEvent>, ReadError> {
        self.tier.events(positions, max_bytes).map_err(ReadError::Archive)
    }

    /// Returns the last positions, down and up, to which there is nothing with the filter's labels around this one. Facts that the
    /// archives do not tell are looked for in the frames, and so are errors.
    pub(super) fn gap_around(&self, filter: &Filter, position: Position) -> Option<RangeInclusive<Position>> {
        let found = self.tier.alike_around(filter, position).ok()??;
        let (range, may_match) = found;
        (!may_match && range.contains(&position)).then(|| {
            // Of this segment alone: what is behind it may be here again.
            (*range.start()).max(self.first)..=(*range.end()).min(self.last)
        })
    }

    pub(super) fn first_time(&self) -> Micros {
        self.first_time
    }

    /// As that of a segment in its file. Each look costs a frame, so first it is asked what the archives know without reading any.
    pub(super) fn first_at(&self, time: Micros) -> Result<Option<Position>, ReadError> {
        let (mut low, mut high) = (self.first.get(), self.last.get() + 1);
        if let Some(stretch) = self.tier.span_at(self.first, time) {
            low = low.max(stretch.first.get());
            // The event before it is older, so that a frame begins there.
            high = high.min(if stretch.first_time < time { stretch.last.get() + 1 } else { low });
        }
        while let Some(middle) = Position::new(low.midpoint(high)).filter(|_| low < high) {
            let Some(place) = self.find(middle)? else { break };
            if place.header.time < time {
                low = place.header.last_position().get() + 1;
            } else {
                high = place.header.first_position.get();
            }
        }
        Ok(Position::new(low).filter(|position| *position <= self.last))
    }

    pub(super) fn following(&self, place: &FrameEntry) -> Result<Option<FrameEntry>, ReadError> {
        place.header.last_position().next().map_or(Ok(None), |next| self.find(next))
    }

    /// The root after the event at `last`, if that is the segment's last one: of others the frame no more says it.
    pub(super) fn root_after(&self, last: Position) -> Option<TreeHash> {
        (last == self.last).then_some(self.end_root)
    }

    fn another(&self, frame: &ArchivedFrame) -> ReadError {
        let what = format!(
            "a frame of positions {} to {} expected within these, {} events from {} on found",
            self.first, self.last, frame.count, frame.first_position
        );
        let kind = ArchiveTierErrorKind::Damaged;
        ReadError::Archive(ArchiveTierError { first: self.first, last: self.last, kind, what })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::archive_tier::ArchivedSpan;

    /// Frames of these many events each, one after another from position 11 on, the first at time 100, each 10 later; how many were
    /// read; and stretches that are known without.
    #[derive(Debug, Default)]
    struct CountingTier(Vec<u32>, AtomicUsize, Vec<ArchivedSpan>);

    impl ArchiveTier for CountingTier {
        fn frame(&self, position: Position) -> Result<ArchivedFrame, ArchiveTierError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let (mut first, mut time) = (11, 100);
            for count in &self.0 {
                if position.get() < first + u64::from(*count) {
                    let body = Arc::new(vec![7; *count as usize]);
                    let first_position = Position::new(first).unwrap();
                    return Ok(ArchivedFrame { first_position, count: *count, time: Micros(time), body });
                }
                first += u64::from(*count);
                time += 10;
            }
            let (kind, what) = (ArchiveTierErrorKind::Unavailable, "gone".to_owned());
            Err(ArchiveTierError { first: position, last: position, kind, what })
        }

        fn span_at(&self, position: Position, time: Micros) -> Option<ArchivedSpan> {
            self.2.iter().find(|known| known.last >= position && known.last_time >= time).copied()
        }
    }

    fn at(position: u64) -> Position {
        Position::new(position).unwrap()
    }

    fn segment(last: u64, counts: &[u32]) -> ArchivedSegment {
        segment_of(last, CountingTier(counts.to_vec(), AtomicUsize::default(), Vec::new()).into())
    }

    fn segment_of(last: u64, tier: Arc<CountingTier>) -> ArchivedSegment {
        ArchivedSegment {
            first: at(11),
            last: at(last),
            first_time: Micros(100),
            end_root: TreeHash([9; 32]),
            tier,
            stands_in: false,
        }
    }

    #[test]
    fn frames_are_found_and_followed_to_the_segments_end() {
        let segment = segment(20, &[4, 1, 5]);
        let mut place = segment.find(at(12)).unwrap();
        let mut seen = Vec::new();
        while let Some(found) = place {
            seen.push((found.header.first_position.get(), found.header.count));
            place = segment.following(&found).unwrap();
        }
        assert_eq!(seen, [(11, 4), (15, 1), (16, 5)]);
        assert!(segment.find(at(21)).unwrap().is_none());
        assert_eq!(segment.root_after(at(20)), Some(TreeHash([9; 32])));
        assert_eq!(segment.root_after(at(19)), None);
    }

    #[test]
    fn the_first_frame_at_a_time_is_found_by_halves() {
        let segment = segment(20, &[4, 1, 5]);
        let first_at = |time| segment.first_at(Micros(time)).unwrap().map(Position::get);
        assert_eq!(
            [0, 100, 101, 110, 115, 120, 121].map(first_at),
            [Some(11), Some(11), Some(15), Some(15), Some(16), Some(16), None]
        );
    }

    #[test]
    fn no_frame_is_read_where_the_archives_know_the_time() {
        let stretch = |first, last, first_time, last_time| ArchivedSpan {
            first: at(first),
            last: at(last),
            first_time: Micros(first_time),
            last_time: Micros(last_time),
        };
        // The first begins before the segment, and the last goes on behind it; a frame lies in two.
        let known = vec![stretch(1, 12, 40, 100), stretch(13, 14, 100, 100), stretch(15, 40, 110, 190)];
        let frames = Arc::new(CountingTier(vec![4, 1, 5, 9], AtomicUsize::default(), known));
        let segment = segment_of(20, Arc::clone(&frames));
        let first_at = |time| {
            let read_before = frames.1.load(Ordering::Relaxed);
            let found = segment.first_at(Micros(time)).unwrap().map(Position::get);
            (found, frames.1.load(Ordering::Relaxed) - read_before)
        };
        assert_eq!([30, 101, 110].map(first_at), [(Some(11), 0), (Some(15), 0), (Some(15), 0)]);
        assert_eq!([100, 115, 120, 121].map(|time| first_at(time).0), [Some(11), Some(16), Some(16), None]);
        assert!(first_at(100).1 > 0 && first_at(111).1 <= 3);
    }

    #[test]
    fn a_frame_that_leaves_the_segment_is_refused() {
        let segment = segment(18, &[4, 1, 5]);
        assert!(segment.find(at(11)).is_ok());
        let Err(ReadError::Archive(error)) = segment.find(at(17)) else { panic!("a frame past the end") };
        assert_eq!((error.first, error.last, error.kind), (at(11), at(18), ArchiveTierErrorKind::Damaged));
    }

    #[test]
    fn what_the_archives_do_not_give_is_an_error() {
        let segment = segment(30, &[4, 1, 5]);
        let Err(ReadError::Archive(error)) = segment.find(at(22)) else { panic!("a frame out of nothing") };
        assert_eq!(error.kind, ArchiveTierErrorKind::Unavailable);
    }
}
