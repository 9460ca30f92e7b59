//! The sequencer's state ahead of the disk: next position, stream tips, identities, condition window.

use std::collections::VecDeque;

use bitacora_formats::{Commitment, EventKey, Micros, Position, StreamKey, StreamVersion};

use crate::dedup::segment_ids::{KnownIdentity, SegmentIds};
use crate::host::key_map::KeyMap;
use crate::limits::{CONDITION_WINDOW_EVENTS, MAX_STREAMS};
use crate::stream_tips::{DurableTips, Tip};
use crate::submission::prepare::{Facets, PreparedCondition};

/// State ahead of the disk. [`StagedState::discard`] undoes all changes of one request.
pub(crate) struct StagedState {
    next: Position,
    /// The time of the frame staged last.
    pub(crate) time: Micros,
    durable_tips: DurableTips,
    /// Tips of streams whose newest event may not be durable yet.
    ahead: KeyMap<StreamKey, Tip>,
    /// Identities of the live segment.
    live_ids: SegmentIds,
    window: VecDeque<(Position, Facets)>,
    /// The last position before the window: matches at or before it are not known here.
    window_after: u64,
    undo: Vec<UndoEntry>,
}

/// The reasons for which an event gets no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlacementError {
    /// An event of the live segment has the same identity.
    Repeated,
    /// It would begin one stream too many.
    TooManyStreams,
    /// The ledger or the stream has no number left.
    NoNumberLeft,
}

/// The values that take one event back.
struct UndoEntry {
    key: EventKey,
    stream: StreamKey,
    tip: Option<Tip>,
    position: Position,
}

impl StagedState {
    /// The state after the last durable position.
    pub(crate) fn new(next: Position, time: Micros, durable_tips: DurableTips) -> Self {
        Self {
            next,
            time,
            durable_tips,
            ahead: KeyMap::default(),
            live_ids: SegmentIds::default(),
            window: VecDeque::new(),
            window_after: next.get() - 1,
            undo: Vec::new(),
        }
    }

    pub(crate) fn next(&self) -> Position {
        self.next
    }

    pub(crate) fn known(&self, key: &EventKey) -> Option<KnownIdentity> {
        self.live_ids.get(key).copied()
    }

    pub(crate) fn tip(&self, stream: &StreamKey) -> Option<Tip> {
        self.ahead.get(stream).copied().or_else(|| self.durable_tip(stream))
    }

    fn durable_tip(&self, stream: &StreamKey) -> Option<Tip> {
        let tips = self.durable_tips.read();
        tips.get(stream).copied()
    }

    /// Returns `true` if no more stream may begin. Streams ahead of the disk may be counted twice: the limit is met early, never late.
    fn is_full(&self) -> bool {
        let tips = self.durable_tips.read();
        tips.len() + self.ahead.len() >= MAX_STREAMS
    }

    /// Matches at or before this position are not known here.
    pub(crate) fn window_after(&self) -> u64 {
        self.window_after
    }

    /// Gives an event its place, or changes nothing.
    pub(crate) fn place(
        &mut self,
        key: EventKey,
        stream: StreamKey,
        commitment: &Commitment,
        facets: Facets,
    ) -> Result<Tip, PlacementError> {
        let position = self.next;
        let before = self.tip(&stream);
        if before.is_none() && self.is_full() {
            return Err(PlacementError::TooManyStreams);
        }
        let version = before.map_or(Some(StreamVersion::FIRST), |tip| tip.version.next());
        let (version, next) = version.zip(position.next()).ok_or(PlacementError::NoNumberLeft)?;
        if !self.live_ids.insert_new(key, KnownIdentity::new(position, commitment)) {
            return Err(PlacementError::Repeated);
        }
        self.next = next;
        let tip = Tip { version, position };
        self.ahead.insert(stream, tip);
        self.window.push_back((position, facets));
        self.undo.push(UndoEntry { key, stream, tip: before, position });
        Ok(tip)
    }

    /// The request stands.
    pub(crate) fn keep(&mut self) {
        self.undo.clear();
        while self.window.len() > CONDITION_WINDOW_EVENTS {
            if let Some((position, _)) = self.window.pop_front() {
                self.window_after = position.get();
            }
        }
    }

    /// The request is dropped: nothing of it is left.
    pub(crate) fn discard(&mut self) {
        while let Some(undo) = self.undo.pop() {
            self.live_ids.remove(&undo.key);
            match undo.tip {
                Some(tip) => self.ahead.insert(undo.stream, tip),
                None => self.ahead.remove(&undo.stream),
            };
            self.window.pop_back();
            self.next = undo.position;
        }
    }

    /// The newest event past what was checked that matches; `Err` where the window does not reach back far enough.
    pub(crate) fn newest_match(
        &self,
        condition: &PreparedCondition,
    ) -> Result<Option<Position>, WindowOverrun> {
        if condition.checked_through < self.window_after {
            return Err(WindowOverrun);
        }
        let newer =
            self.window.iter().rev().take_while(|(position, _)| position.get() > condition.checked_through);
        Ok(newer.into_iter().find(|(_, facets)| condition.matches(facets)).map(|(position, _)| *position))
    }

    /// Forgets tips that the durable ones hold by now.
    pub(crate) fn settle(&mut self, durable: Position) {
        self.ahead.retain(|_, tip| tip.position > durable);
    }

    /// Returns the number of streams that may be ahead of the disk.
    pub(crate) fn ahead(&self) -> usize {
        self.ahead.len()
    }

    /// The identities of the segment that ends, but for these, which belong to the next one.
    pub(crate) fn take_live_ids<'k>(&mut self, keep: impl Iterator<Item = &'k EventKey>) -> SegmentIds {
        let mut ended = std::mem::take(&mut self.live_ids);
        self.live_ids = keep.filter_map(|key| ended.remove(key).map(|known| (*key, known))).collect();
        ended
    }
}

/// More events went by between the search of the log and the sequencer than the window holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WindowOverrun;
