//! The building of a page: the log is read piece by piece in the query's direction until it is full.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use bitacora_formats::{After, Micros, Position, Record};

use crate::limits::{
    MAX_PAGE_BYTES, MAX_PAGE_FRAMES, PICKED_BYTES_AHEAD, PICKED_EVENTS_AHEAD, PICKED_FRAMES_AHEAD,
};
use crate::query::{Filter, PageEnd, ReadFrom, ReadQuery, ReadTiers, TakeEvent};
use crate::read::commitments::Commitments;
use crate::read::log_reader::{EventSource, LocatedEntry, LogReader};
use crate::read::openers::open_all;
use crate::read_error::ReadError;
use crate::segments::GapSide;
use crate::segments::recent_frames::OpenFrame;
use crate::shared_state::SharedState;

/// A page that is being made; its events are given away one by one.
///
/// A caller that knows the places of matching events shows them with [`Self::pick`]; other callers have the log looked at with
/// [`Self::scan`]. Both check every event against the filter, and both end where the page's limits are met. So the page is the same with
/// either.
pub struct PageBuilder<'a> {
    reader: LogReader<'a>,
    query: ReadQuery,
    limit: usize,
    /// The range of positions that may match and were not looked at yet; empty where `low` is past `high`.
    low: u64,
    high: u64,
    /// The commitments from the tree, for many events that follow one another.
    commitments: Option<Commitments<'a>>,
    /// The positions that were to be looked at when the page began.
    begun: (u64, u64),
    /// The last position that the query allows, without regard to times.
    until: u64,
    /// `true` if the events behind the head are lost: the page goes on there, and its followers hear so.
    is_cut: bool,
    take: &'a mut TakeEvent<'a>,
    /// The number of events that were given away.
    events: usize,
    bytes: usize,
    frames: usize,
    state: State,
    read: ReadTiers,
    /// The frame looked at last.
    frame: Option<OpenFrame>,
    /// Frames that were opened ahead, in the page's direction.
    ahead: VecDeque<ReadAhead>,
}

/// The state of a page: open for more, or ended by a limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// It has as many events or bytes as a page may have.
    Full,
    /// It has cost as many frames as a page may cost.
    Spent,
}

/// A frame that was opened before the page came to it.
struct ReadAhead {
    positions: RangeInclusive<Position>,
    /// The opened frame, or its error, which is reported once the page comes to it.
    frame: Result<OpenFrame, ReadError>,
}

impl<'a> PageBuilder<'a> {
    pub(crate) fn new(
        shared: &'a SharedState,
        query: &ReadQuery,
        take: &'a mut TakeEvent<'a>,
    ) -> Result<Self, ReadError> {
        let reader = LogReader::new(shared);
        let head = reader.head.position.get();
        let until = query.until.map_or(head, |until| until.get().min(head));
        // The damage that a page which reaches the end meets there.
        let lost_end = shared.lost_end().filter(|_| query.until.is_none_or(|until| until.get() > head));
        let begins_past = match query.from {
            ReadFrom::After(after) => after.get() >= head,
            ReadFrom::Before(before) => before.is_none_or(|before| before.get() > head + 1),
        };
        if let Some(fault) = lost_end.clone().filter(|_| begins_past) {
            return Err(ReadError::Corrupt(fault));
        }
        let (mut low, mut high) = match query.from {
            ReadFrom::After(after) => (after.get().saturating_add(1), until),
            ReadFrom::Before(before) => (1, before.map_or(head, |before| (before.get() - 1).min(head))),
        };
        if let Some(since) = query.filter.since {
            let first = shared.read.segments.first_at(since, GapSide::Before)?;
            low = low.max(first.map_or(u64::MAX, Position::get));
        }
        if let Some(first) = query
            .filter
            .before
            .map(|before| shared.read.segments.first_at(before, GapSide::Behind))
            .transpose()?
        {
            high = high.min(first.map_or(u64::MAX, |first| first.get() - 1));
        }
        let events = (high.saturating_add(1).saturating_sub(low)).min(query.limit as u64);
        let is_cut = lost_end.is_some() && high == head && matches!(query.from, ReadFrom::After(_));
        let follow = query.filter.has_no_labels();
        let commitments = Commitments::of_many(shared, reader.head.position, events).filter(|_| follow);
        Ok(Self {
            reader,
            query: query.clone(),
            limit: query.limit.max(1),
            low,
            high,
            begun: (low, high),
            commitments,
            until,
            is_cut,
            take,
            events: 0,
            bytes: 0,
            frames: 0,
            state: State::Open,
            read: ReadTiers::default(),
            frame: None,
            ahead: VecDeque::new(),
        })
    }

    /// The positions that may still add to the page; `None` once it is complete.
    #[must_use]
    pub fn remaining(&self) -> Option<RangeInclusive<Position>> {
        let (low, high) = (Position::new(self.low)?, Position::new(self.high)?);
        (self.state == State::Open && low <= high).then_some(low..=high)
    }

    /// Returns `true` if the page goes from higher positions to lower ones.
    #[must_use]
    pub fn is_descending(&self) -> bool {
        matches!(self.query.from, ReadFrom::Before(_))
    }

    /// Looks at every remaining event up to `bound`, itself included, in the page's direction. The page ends before damage, where it
    /// has looked at anything before; the next one meets it.
    ///
    /// # Errors
    /// Damage or a disk error at the place that was read.
    pub fn scan(&mut self, bound: Position) -> Result<(), ReadError> {
        let scanned = self.scan_on(bound);
        self.end_before_damage(scanned)
    }

    /// Looks at the events at `positions`, which ascend; all other remaining events up to `bound`, itself included, are
    /// taken not to match. The page ends before damage as with [`Self::scan`].
    ///
    /// # Errors
    /// As [`Self::scan`].
    pub fn pick(&mut self, positions: &[Position], bound: Position) -> Result<(), ReadError> {
        let picked = self.pick_on(positions, bound);
        self.end_before_damage(picked)
    }

    fn end_before_damage(&mut self, looked: Result<(), ReadError>) -> Result<(), ReadError> {
        match looked {
            Err(ReadError::Corrupt(_)) if self.begun != (self.low, self.high) => {
                self.state = State::Spent;
                Ok(())
            }
            looked => looked,
        }
    }

    fn scan_on(&mut self, bound: Position) -> Result<(), ReadError> {
        while let Some(next) = self.next_position(bound) {
            if let Some(gap) = self.archived_gap(next) {
                let edge = if self.is_descending() { *gap.start() } else { *gap.end() };
                self.pass(if self.is_descending() { edge.max(bound) } else { edge.min(bound) });
                continue;
            }
            self.read.add(self.reader.tier_of(next));
            let frame = self.frame_with(next)?;
            let result = self.examine(&frame, bound, |_| true);
            self.frame = Some(frame);
            result?;
        }
        Ok(())
    }

    fn pick_on(&mut self, positions: &[Position], bound: Position) -> Result<(), ReadError> {
        while let Some(range) = self.remaining() {
            let next = if self.is_descending() {
                let after = positions.partition_point(|at| at <= range.end());
                positions.get(..after).and_then(<[_]>::last).filter(|at| **at >= bound)
            } else {
                let before = positions.partition_point(|at| at < range.start());
                positions.get(before).filter(|at| **at <= bound)
            };
            let Some(next) = next.filter(|at| range.contains(at)) else {
                self.pass(bound);
                return Ok(());
            };
            self.read.add(self.reader.tier_of(*next));
            if self.pick_archived(*next, positions, bound)? {
                continue;
            }
            let frame = self.picked_frame(*next, positions, bound)?;
            let result = self.examine(&frame, bound, |at| positions.binary_search(&at).is_ok());
            self.frame = Some(frame);
            result?;
        }
        Ok(())
    }

    /// The end of the page as it is now. It goes on behind what was looked at.
    #[must_use]
    pub fn finish(self) -> PageEnd {
        let next = match self.query.from {
            // Where only times end the page early, nothing behind them can match.
            _ if self.state == State::Open && self.low > self.high => {
                self.is_cut.then(|| ReadFrom::After(After::new(self.reader.head.position.get())))
            }
            ReadFrom::After(_) => {
                (self.low <= self.until || self.is_cut).then(|| ReadFrom::After(After::new(self.low - 1)))
            }
            ReadFrom::Before(_) if self.high == 0 => None,
            ReadFrom::Before(_) => Position::new(self.high + 1).map(|before| ReadFrom::Before(Some(before))),
        };
        PageEnd { events: self.events, next, head: self.reader.head, read: self.read }
    }

    /// Archived positions around one, of which none can match.
    fn archived_gap(&self, position: Position) -> Option<RangeInclusive<Position>> {
        let filter = &self.query.filter;
        let segment =
            self.reader.shared().read.segments.holding(position).filter(|_| !filter.has_no_labels())?;
        segment.gap_around(filter, position)
    }

    /// Returns the next position to look at, unless it is past `bound`.
    fn next_position(&self, bound: Position) -> Option<Position> {
        let range = self.remaining()?;
        if self.is_descending() {
            Some(*range.end()).filter(|next| *next >= bound)
        } else {
            Some(*range.start()).filter(|next| *next <= bound)
        }
    }

    /// Nothing up to `bound` is looked at any more.
    fn pass(&mut self, bound: Position) {
        if self.is_descending() {
            self.high = self.high.min(bound.get() - 1);
        } else {
            self.low = self.low.max(bound.get().saturating_add(1));
        }
    }

    /// The event at `position` is what is looked at next.
    fn pass_before(&mut self, position: Position) {
        if self.is_descending() {
            self.high = self.high.min(position.get());
        } else {
            self.low = self.low.max(position.get());
        }
    }

    fn frame_with(&mut self, position: Position) -> Result<OpenFrame, ReadError> {
        if let Some(frame) = self.frame.take() {
            let header = &frame.place.header;
            if header.positions().contains(&position) {
                return Ok(frame);
            }
            if header.last_position().next() == Some(position) {
                self.frames += 1;
                return self.reader.frame_after(&frame)?.map_or_else(|| self.reader.frame_with(position), Ok);
            }
        }
        self.frames += 1;
        self.reader.frame_with(position)
    }

    /// Looks at the next position and at those behind it without their frames, if it lies in an archive; says whether it does.
    fn pick_archived(
        &mut self,
        next: Position,
        positions: &[Position],
        bound: Position,
    ) -> Result<bool, ReadError> {
        let Some(through) =
            self.reader.shared().read.segments.released_through().filter(|last| next <= *last)
        else {
            return Ok(false);
        };
        let room = self.limit.saturating_sub(self.events).clamp(1, PICKED_EVENTS_AHEAD);
        let asked = self.upcoming(next, positions, bound).take_while(|at| *at <= through).take(room);
        let Some(found) = self.reader.archived(&asked.collect::<Vec<_>>(), PICKED_BYTES_AHEAD)? else {
            return Ok(false);
        };
        for event in &found.events {
            if !self.remaining().is_some_and(|range| range.contains(&event.position)) {
                break;
            }
            let origin = EventSource::of_archive(&found.segment, event);
            let entry = event.entry();
            let placed =
                LocatedEntry { at: event.position, derived: event.derived, entry: &entry, commitment: None };
            let is_full = self.consider(&origin, &placed)?;
            self.pass(event.position);
            self.frames += 1;
            if is_full {
                self.state = State::Full;
            } else if self.frames >= MAX_PAGE_FRAMES {
                self.state = State::Spent;
            }
        }
        Ok(true)
    }

    /// The frame with the next position to be looked at, and on the way those with the ones behind it.
    fn picked_frame(
        &mut self,
        next: Position,
        positions: &[Position],
        bound: Position,
    ) -> Result<OpenFrame, ReadError> {
        let held = self.frame.as_ref().is_some_and(|frame| frame.place.header.positions().contains(&next));
        if held {
            return self.frame_with(next);
        }
        if !self.ahead.front().is_some_and(|ahead| ahead.positions.contains(&next)) {
            self.ahead = self.open_ahead(next, positions, bound)?;
        }
        match self.ahead.pop_front() {
            Some(ahead) => {
                self.frames += 1;
                match ahead.frame {
                    Err(ReadError::Corrupt(_)) => self.reader.frame_with(next),
                    frame => frame,
                }
            }
            None => self.frame_with(next),
        }
    }

    /// Opens side by side the frames that the page needs next, as far as it is known how many those are.
    fn open_ahead(
        &self,
        next: Position,
        positions: &[Position],
        bound: Position,
    ) -> Result<VecDeque<ReadAhead>, ReadError> {
        let (mut ranges, mut found, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut room = self.limit - self.events.min(self.limit);
        let most = PICKED_FRAMES_AHEAD.min(MAX_PAGE_FRAMES.saturating_sub(self.frames).max(1));
        self.upcoming(next, positions, bound)
            .take(most.min(room))
            .for_each(|at| self.reader.expect_search(at));
        let mut wanted = Some(next);
        while let Some(at) = wanted.filter(|_| found.len() < most && bytes < PICKED_BYTES_AHEAD && room > 0) {
            let frame = match self.reader.find(at) {
                Ok(frame) => frame,
                // Heard of once the page comes to it, if it does.
                Err(_) if !found.is_empty() => break,
                Err(error) => return Err(error),
            };
            let range = frame.place().header.positions();
            let picked = picked_in(positions, &range);
            bytes += frame.place().header.body_bytes as usize;
            room = room.saturating_sub(picked.len().max(1));
            wanted = if self.is_descending() {
                picked.start.checked_sub(1).and_then(|index| positions.get(index)).filter(|at| **at >= bound)
            } else {
                positions.get(picked.end).filter(|at| **at <= bound)
            }
            .copied();
            ranges.push(range);
            found.push(frame);
        }
        let opened = open_all(self.reader.shared(), &found).into_iter();
        Ok(ranges.into_iter().zip(opened).map(|(positions, frame)| ReadAhead { positions, frame }).collect())
    }

    /// The positions to be looked at from `next` on, in the page's direction.
    fn upcoming<'p>(
        &self,
        next: Position,
        positions: &'p [Position],
        bound: Position,
    ) -> Box<dyn Iterator<Item = Position> + 'p> {
        if self.is_descending() {
            let after = positions.partition_point(|at| *at <= next);
            let (before, _) = positions.split_at(after);
            Box::new(before.iter().rev().copied().take_while(move |at| *at >= bound))
        } else {
            let before = positions.partition_point(|at| *at < next);
            let (_, after) = positions.split_at(before);
            Box::new(after.iter().copied().take_while(move |at| *at <= bound))
        }
    }

    /// Takes in the frame's events that are wanted, remaining and not past `bound`.
    fn examine(
        &mut self,
        frame: &OpenFrame,
        bound: Position,
        wanted: impl Fn(Position) -> bool,
    ) -> Result<(), ReadError> {
        let header = &frame.place.header;
        let descending = self.is_descending();
        let (low, high) = if descending {
            (self.low.max(bound.get()), self.high)
        } else {
            (self.low, self.high.min(bound.get()))
        };
        let body = self.reader.decode(frame)?;
        let mut entries = Vec::with_capacity(header.count as usize);
        let mut position = Some(header.first_position);
        for request in &body.requests {
            for (index, entry) in request.entries.iter().enumerate() {
                let Some(at) = position else { break };
                if (low..=high).contains(&at.get()) && wanted(at) {
                    entries.push(LocatedEntry {
                        at,
                        derived: index >= request.submitted as usize,
                        entry,
                        commitment: None,
                    });
                }
                position = at.next();
            }
        }
        if descending {
            entries.reverse();
        }
        for mut placed in entries {
            placed.commitment = self.commitments.as_mut().and_then(|known| known.of(placed.at));
            let considered = self.consider(&EventSource::of_frame(frame), &placed);
            if considered.is_err() {
                self.pass_before(placed.at);
            }
            if considered? {
                self.pass(placed.at);
                self.state = State::Full;
                return Ok(());
            }
        }
        let edge =
            if descending { header.first_position.max(bound) } else { header.last_position().min(bound) };
        self.pass(edge);
        if self.frames >= MAX_PAGE_FRAMES {
            self.state = State::Spent;
        }
        Ok(())
    }

    /// Takes the event in if it matches; says whether the page is full.
    fn consider(&mut self, origin: &EventSource<'_>, placed: &LocatedEntry<'_>) -> Result<bool, ReadError> {
        let entry = placed.entry;
        let record = origin.record(entry)?;
        if !self.query.filter.lets_through(&record, origin.time) {
            return Ok(false);
        }
        self.reader.assemble(origin, placed, record, self.take)?;
        self.events += 1;
        self.bytes += entry.record.len() + entry.part.map_or(0, <[u8]>::len);
        Ok(self.events >= self.limit || self.bytes >= MAX_PAGE_BYTES)
    }
}

/// Returns the indexes of the ascending positions that lie in the range.
fn picked_in(positions: &[Position], range: &RangeInclusive<Position>) -> Range<usize> {
    let start = positions.partition_point(|at| at < range.start());
    let end = positions.partition_point(|at| at <= range.end());
    start..end.max(start)
}

impl Filter {
    fn lets_through(&self, record: &Record<'_>, time: Micros) -> bool {
        let is = |asked: &Option<String>, found: Option<&str>| {
            asked.as_deref().is_none_or(|asked| found == Some(asked))
        };
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| *kind == record.kind))
            && is(&self.stream, Some(&record.stream))
            && is(&self.actor, record.actor.as_deref())
            && is(&self.agent, record.agent.as_deref())
            && is(&self.session, record.session.as_deref())
            && is(&self.run, record.run.as_deref())
            && is(&self.call, record.call.as_deref())
            && self.tag.as_ref().is_none_or(|tag| record.tags.iter().any(|found| found == tag))
            && self.since.is_none_or(|since| time >= since)
            && self.before.is_none_or(|before| time < before)
    }
}
