//! The place of a replay in the log: what was read before it, and how the last written segment there ends.

use std::path::PathBuf;
use std::sync::Arc;

use bitacora_formats::{Frontier, LedgerKeys, Position, SegmentEnd, SegmentHeader, SegmentNumber, StreamKey};

use super::TailState;
use crate::dedup::id_tables::IdTables;
use crate::host::key_map::KeyMap;
use crate::log_fault::LogFault;
use crate::segments::Segment;
use crate::stream_tips::Tip;
use crate::tables::tip_tables::EndedState;
use crate::tree::TreeGrowth;
use crate::tree::leaves::SegmentLeaves;

/// The place of a replay between two files.
#[derive(Default)]
pub(super) struct ReplayCursor {
    /// The state after the last event that was read; `None` before the first whole frame.
    pub(super) progress: Option<Progress>,
    /// The end of the last written segment, as long as no written one follows.
    pub(super) tail: Option<TailState>,
    /// The last whole segment before that one, and where its bytes end. Recovery makes it durable where the last one falls away.
    pub(super) before_last: Option<(PathBuf, u64)>,
    /// Files of zeros behind the last written segment.
    pub(super) blank: Vec<PathBuf>,
}

impl ReplayCursor {
    /// Returns the number of segments that were read or that tables cover.
    pub(super) fn segments(&self) -> usize {
        let last = self.progress.as_ref().map_or(0, |progress| progress.end.number.0);
        usize::try_from(last).unwrap_or(usize::MAX)
    }

    /// Returns the first position that was not read.
    pub(super) fn next_position(&self) -> Position {
        self.progress.as_ref().map_or(Position::FIRST, |progress| progress.end.next_position)
    }

    /// Passes the end of the last segment: a written one follows, or damage. A torn end is followed by neither.
    pub(super) fn pass_tail(&mut self) {
        if let Some(TailState::Whole { path, end, .. }) = self.tail.take() {
            self.before_last = Some((path, end));
        }
    }

    /// Ends the log at damage.
    pub(super) fn end_at(&mut self, fault: LogFault) {
        self.pass_tail();
        self.tail = Some(TailState::Corrupt(fault));
    }
}

/// The state of a replay after some events.
pub(super) struct Progress {
    pub(super) keys: LedgerKeys,
    /// The end of the frames so far.
    pub(super) end: SegmentEnd,
    pub(super) frontier: Frontier,
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) tips: KeyMap<StreamKey, Tip>,
    pub(super) ids: Arc<IdTables>,
    /// The end of the segments that tables cover; `None` without tables.
    pub(super) covered: Option<SegmentEnd>,
    /// Tips of the streams in the segments after those.
    pub(super) unsaved_tips: KeyMap<StreamKey, Tip>,
    pub(super) growth: TreeGrowth,
    /// The leaves of the last segment that was read.
    pub(super) leaves: Option<SegmentLeaves>,
}

impl Progress {
    /// Returns the state before the ledger's first event.
    pub(super) fn before_first(keys: LedgerKeys, header: &SegmentHeader, ids: Arc<IdTables>) -> Self {
        Self {
            keys,
            end: SegmentEnd::before_first(header.ledger),
            frontier: Frontier::new(),
            segments: Vec::new(),
            tips: KeyMap::default(),
            ids,
            covered: None,
            unsaved_tips: KeyMap::default(),
            growth: TreeGrowth { base: Frontier::new(), groups: Vec::new() },
            leaves: None,
        }
    }

    /// Returns the state behind the segments that tables cover.
    pub(super) fn behind_tables(
        keys: LedgerKeys,
        state: EndedState,
        segments: Vec<Arc<Segment>>,
        ids: Arc<IdTables>,
    ) -> Self {
        let EndedState { end, frontier, tips, .. } = state;
        Self {
            keys,
            end,
            growth: TreeGrowth { base: frontier.clone(), groups: Vec::new() },
            frontier,
            segments,
            tips,
            ids,
            covered: Some(end),
            unsaved_tips: KeyMap::default(),
            leaves: None,
        }
    }

    /// Returns `true` where tables hold the state after this position.
    pub(super) fn is_covered(&self, position: Position) -> bool {
        self.covered.is_some_and(|covered| position < covered.next_position)
    }

    /// Returns the state that tables do not hold yet, for them to write; `None` for a damaged log.
    pub(super) fn unsaved(&mut self, tail: &TailState) -> Option<EndedState> {
        let covered = self.covered.map_or(SegmentNumber(0), |covered| covered.number);
        if self.end.number <= covered || tail.is_corrupt() {
            return None;
        }
        let (first, tips) = (covered.next()?, std::mem::take(&mut self.unsaved_tips));
        Some(EndedState { first, end: self.end, frontier: self.frontier.clone(), tips })
    }
}
