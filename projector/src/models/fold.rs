//! One build of a read model on its way through the log: its cursor, its changes that are not stored yet, and the event that halts it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::{CutState, ModelCursor, Position, RowSum};

use super::model::{FoldError, FoldEvent};
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::recall::RecallGuard;
use super::rows::{Changes, Rows};
use super::store::{RowIntegrityError, guarded};
use crate::limits::{COMMIT_BYTES, FOLD_EVENTS, IDLE_COMMIT_EVENTS};

/// The progress of a build: in memory, and in the store. A crash goes back from the first to the second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FoldCursor {
    /// The last event that is folded, or none of the build's own; 0 before the first. Never before the stored one.
    folded: u64,
    /// The cursor that the store has; `None` for a build of which nothing is stored.
    stored: Option<ModelCursor>,
    /// As it stands with the last event that is folded.
    cut: CutState,
    /// The last event that was folded, and the cut, when no change of a row was left to store.
    kept: (u64, CutState),
}

impl FoldCursor {
    fn of_stored(stored: Option<ModelCursor>) -> Self {
        let cut = stored.map_or_else(CutState::default, |stored| stored.cut);
        let folded = stored.map_or(0, |stored| stored.position.get());
        Self { folded, stored, cut, kept: (folded, cut) }
    }

    /// Returns the last event that is folded; 0 before the first.
    pub(super) fn folded(&self) -> u64 {
        self.folded
    }

    /// Returns the first event that is not folded.
    pub(super) fn next(&self) -> u64 {
        self.folded + 1
    }

    pub(super) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Returns the sum of the stored rows.
    pub(super) fn sum(&self) -> RowSum {
        self.stored.map_or_else(RowSum::default, |stored| stored.sum)
    }

    /// Returns the cut, and what is known of the rows that left.
    pub(super) fn cut(&self) -> CutState {
        self.cut
    }

    /// Returns `true` if rows have yet to leave.
    pub(super) fn has_cut_to_make(&self) -> bool {
        self.cut.through > 0 && !self.cut.is_done
    }

    /// Notes a cut that stands in the log.
    fn note_cut(&mut self, through: u64) {
        if through > self.cut.through {
            (self.cut.through, self.cut.is_done) = (through, false);
        }
    }

    /// Returns the number of events that are folded and not stored.
    fn unstored(&self) -> u64 {
        self.folded - self.stored.map_or(0, |stored| stored.position.get())
    }

    fn advance(&mut self, to: Position) {
        self.folded = self.folded.max(to.get());
    }

    /// Goes back to what is stored.
    fn rewind(&mut self) {
        *self = Self::of_stored(self.stored);
    }

    /// Goes back to where no change was left to store. Readers were told of nothing behind that.
    fn rewind_to_kept(&mut self) {
        (self.folded, self.cut) = self.kept;
    }

    fn keep(&mut self) {
        self.kept = (self.folded, self.cut);
    }
}

/// One build on its way.
pub(crate) struct Fold {
    pub(crate) published: Arc<PublishedModel>,
    pub(crate) build: Arc<Build>,
    pub(super) cursor: FoldCursor,
    changes: Changes,
    /// `true` if readers were answered from it.
    pub(super) shown: bool,
    /// The event that it could not take in, and the reason. It takes no further event.
    pub(super) halted: Option<(Position, FoldError)>,
    /// The first event that changes a row which left, if this opening met one: it is folded up to there.
    late_at: Option<Position>,
    /// It went back within a portion, and takes events again from the next portion on.
    has_gone_back: bool,
    /// The key that the next piece of its cut begins with.
    cut_from: Option<Vec<u8>>,
    /// The time before which no row leaves it.
    cut_after: Option<Instant>,
    /// It is folded to answer about rows that left, and is no part of what takes the place of the build that answers.
    pub(super) recall: Option<RecallGuard>,
}

impl Fold {
    /// Goes on with a verified build, or begins one.
    pub(crate) fn new(
        published: Arc<PublishedModel>,
        build: Arc<Build>,
        stored: Option<ModelCursor>,
    ) -> Self {
        // Only a build that began empty knows all of its keys, so only its filter can tell that a row never was.
        let changes = if stored.is_none() { Changes::for_new_build() } else { Changes::default() };
        Self {
            published,
            build,
            cursor: FoldCursor::of_stored(stored),
            changes,
            shown: false,
            halted: None,
            late_at: None,
            has_gone_back: false,
            cut_from: None,
            cut_after: None,
            recall: None,
        }
    }

    /// Readers are answered from it from now on.
    pub(crate) fn show(&mut self) {
        if let Some(position) = Position::new(self.cursor.folded) {
            self.shown = true;
            self.changes.drop_bloom();
            self.published.show(&self.build, position, self.cursor.stored);
        }
    }

    /// Returns `true` if it has come near the head.
    pub(super) fn is_near(&self, head: u64) -> bool {
        self.cursor.is_stored() && head.saturating_sub(self.cursor.folded) < FOLD_EVENTS
    }

    /// Returns `true` if a reader found damaged rows in it.
    pub(super) fn is_suspect(&self) -> bool {
        self.shown && !self.published.is_live(&self.build)
    }

    /// Takes in an event of one of its kinds. An event that it cannot take in halts it there.
    pub(super) fn take(&mut self, event: &FoldEvent<'_>) {
        // The portion is the same for all builds of a group, so events that this one has folded come again.
        if event.position.get() <= self.cursor.folded || !self.has_room() || self.is_late_at(event.position) {
            return;
        }
        let mut rows = Rows::new(&self.build, &mut self.changes, event.position);
        let model = self.build.model;
        // A panic in one model must not end the others of this thread.
        match catch_unwind(AssertUnwindSafe(|| model.fold(event, &mut rows))) {
            Ok(Ok(())) if self.changes.lack_a_row() => {
                self.halt(event.position, FoldError::Contradiction("its fold kept a row that it took"));
            }
            Ok(Ok(())) => self.cursor.advance(event.position),
            Ok(Err(FoldError::Row(RowIntegrityError::Left))) => self.stand_before(event.position),
            Ok(Err(error)) => self.halt(event.position, error),
            Err(_) => self.halt(event.position, FoldError::Contradiction("its fold panicked")),
        }
    }

    /// Notes a cut that stands at a position of the log. Rows leave later: [`Self::cut_further`].
    pub(super) fn note_cut(&mut self, at: Position, through: u64) {
        let is_next = at.get() > self.cursor.folded && self.has_room() && !self.is_late_at(at);
        if is_next && through < at.get() {
            self.cursor.note_cut(through);
            self.cursor.advance(at);
            self.cut_from = None;
        }
    }

    /// The event changes a row that left. The build is folded up to there, answers as of there, and waits to be replaced.
    fn stand_before(&mut self, late: Position) {
        // Of the event, a part may stand in the changes. Those of the events before it are made again.
        self.changes.clear();
        self.cursor.rewind_to_kept();
        self.cursor.cut.late = 1;
        (self.late_at, self.has_gone_back) = (Some(late), true);
    }

    /// Returns `true` if an event that changes a row which left stands at this position or before.
    fn is_late_at(&self, position: Position) -> bool {
        self.late_at.is_some_and(|late| late <= position)
    }

    /// Returns `true` if it met an event that changes a row which left.
    pub(super) fn is_late(&self) -> bool {
        self.cursor.cut.late > 0
    }

    /// Returns `true` if it takes no further event, because the next one of its own changes a row which left.
    pub(super) fn stands(&self) -> bool {
        self.is_late() && self.late_at.is_none_or(|late| self.cursor.next() >= late.get())
    }

    /// Keeps its rows for a time, so that further events which change old rows find them.
    pub(super) fn cut_after(&mut self, pause: Duration) {
        self.cut_after = Instant::now().checked_add(pause);
    }

    /// Returns the time that is left before rows leave it; `None` where none have to, or where they may leave now.
    pub(super) fn keeps_rows_for(&self) -> Option<Duration> {
        let cut_after = self.cut_after.filter(|_| self.cursor.has_cut_to_make())?;
        Some(cut_after.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Makes the next piece of the cut, between two batches. Returns `true` if there was one to make.
    pub(super) fn cut_further(&mut self) -> Result<bool, RowIntegrityError> {
        let may_cut = self.halted.is_none() && !self.is_late() && self.keeps_rows_for().is_none();
        let stored = self.cursor.stored.filter(|_| self.cursor.has_cut_to_make() && may_cut);
        let Some(stored) = stored.filter(|stored| stored.cut.through == self.cursor.cut.through) else {
            return Ok(false);
        };
        // Rows that could not be stored yet would be lost.
        if !self.changes.is_empty() {
            return Ok(false);
        }
        self.changes.clear();
        let from = self.cut_from.take();
        let (stored, next) = guarded(|| self.build.cut(stored, from.as_deref()))?;
        self.cursor.stored = Some(stored);
        (self.cursor.cut.left, self.cursor.cut.is_done) = (stored.cut.left, stored.cut.is_done);
        self.cursor.keep();
        self.cut_from = next;
        self.published.note_cut(&self.build, stored);
        Ok(true)
    }

    /// Returns `true` if every event and every row is in it or known to have left: a copy that is folded again is the same.
    pub(super) fn is_whole(&self) -> bool {
        self.cursor.cut.late == 0 && !self.cursor.has_cut_to_make()
    }

    /// Notes that the portion up to `until` was read: its events are folded, or none of the build's own.
    pub(super) fn pass(&mut self, until: Position) {
        // Where it had no more room, its next event is somewhere before `until`.
        let before_late = self.late_at.map(|late| Position::new(late.get() - 1));
        let until = before_late.map_or(Some(until), |before| before.map(|before| before.min(until)));
        if let Some(until) = until.filter(|_| self.has_room()) {
            self.cursor.advance(until);
        }
    }

    /// Returns `true` if it takes further events before it is stored.
    fn has_room(&self) -> bool {
        self.halted.is_none() && !self.has_gone_back && !self.stands() && self.changes.bytes() <= COMMIT_BYTES
    }

    /// Goes back to what is stored: of the event that halted it, a part may stand in the changes.
    fn halt(&mut self, at: Position, error: FoldError) {
        self.halted = Some((at, error));
        self.changes.clear();
        self.cursor.rewind();
    }

    /// Returns `true` if the store lacks something of it.
    ///
    /// Most models are not concerned by most events. Their cursors are stored once for many events, which costs a restart the reading of
    /// as many. A build is stored once even without rows, because only a stored one may be shown, and at the end the cursor is stored
    /// exactly.
    pub(super) fn must_commit(&self, at_the_end: bool) -> bool {
        let noted = |cut: CutState| (cut.through, cut.late);
        let stored = self.cursor.stored.map_or_else(CutState::default, |stored| stored.cut);
        if !self.changes.is_empty() || noted(stored) != noted(self.cursor.cut) {
            return true;
        }
        match self.cursor.unstored() {
            0 => false,
            unstored => at_the_end || self.cursor.stored.is_none() || unstored >= IDLE_COMMIT_EVENTS,
        }
    }

    /// Stores the changes and the cursor, all or nothing.
    pub(super) fn commit(&mut self, cursor: ModelCursor) -> Result<(), RowIntegrityError> {
        let stored = guarded(|| self.build.commit(&mut self.changes, cursor))?;
        self.cursor.stored = Some(stored);
        self.cursor.cut = stored.cut;
        self.begin_portion();
        Ok(())
    }

    /// Forgets the rows that were only read.
    pub(super) fn forget_reads(&mut self) {
        self.changes.clear();
        self.begin_portion();
    }

    /// Goes on from here: nothing is left to store.
    fn begin_portion(&mut self) {
        self.cursor.keep();
        self.has_gone_back = false;
    }

    /// Tells readers how far it has come.
    pub(super) fn publish_progress(&self, position: Position) {
        if let Some(recall) = &self.recall {
            recall.publish_progress(&self.build, position);
        } else if self.shown {
            self.published.show_further(&self.build, position, self.cursor.stored);
        } else {
            self.published.set_under_way(position);
        }
    }
}
