//! One build of a read model on its way through the log: its cursor, its changes that are not stored yet, and the event that halts it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bitacora_formats::{ModelCursor, Position, RowSum};

use super::model::{FoldError, FoldEvent};
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::rows::{Changes, Rows};
use super::store::{RowIntegrityError, guarded};
use crate::limits::{COMMIT_BYTES, IDLE_COMMIT_EVENTS};

/// The progress of a build: in memory, and in the store. A crash goes back from the first to the second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FoldCursor {
    /// The last event that is folded, or none of the build's own; 0 before the first. Never before the stored one.
    folded: u64,
    /// The cursor that the store has; `None` for a build of which nothing is stored.
    stored: Option<ModelCursor>,
}

impl FoldCursor {
    fn of_stored(stored: Option<ModelCursor>) -> Self {
        Self { folded: stored.map_or(0, |stored| stored.position.get()), stored }
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
        let cursor = FoldCursor::of_stored(stored);
        Self { published, build, cursor, changes, shown: false, halted: None }
    }

    /// Readers are answered from it from now on.
    pub(crate) fn show(&mut self) {
        if let Some(position) = Position::new(self.cursor.folded) {
            self.shown = true;
            self.changes.drop_bloom();
            self.published.show(&self.build, position, self.cursor.stored);
        }
    }

    /// Returns `true` if a reader found damaged rows in it.
    pub(super) fn is_suspect(&self) -> bool {
        self.shown && !self.published.is_live(&self.build)
    }

    /// Takes in an event of one of its kinds. An event that it cannot take in halts it there.
    pub(super) fn take(&mut self, event: &FoldEvent<'_>) {
        // The portion is the same for all builds of a group, so events that this one has folded come again.
        if event.position.get() <= self.cursor.folded || !self.has_room() {
            return;
        }
        let mut rows = Rows::new(&self.build, &mut self.changes);
        let model = self.build.model;
        // A panic in one model must not end the others of this thread.
        match catch_unwind(AssertUnwindSafe(|| model.fold(event, &mut rows))) {
            Ok(Ok(())) if self.changes.lack_a_row() => {
                self.halt(event.position, FoldError::Contradiction("its fold kept a row that it took"));
            }
            Ok(Ok(())) => self.cursor.advance(event.position),
            Ok(Err(error)) => self.halt(event.position, error),
            Err(_) => self.halt(event.position, FoldError::Contradiction("its fold panicked")),
        }
    }

    /// Notes that the portion up to `until` was read: its events are folded, or none of the build's own.
    pub(super) fn pass(&mut self, until: Position) {
        // Where it had no more room, its next event is somewhere before `until`.
        if self.has_room() {
            self.cursor.advance(until);
        }
    }

    /// Returns `true` if it takes further events before it is stored.
    fn has_room(&self) -> bool {
        self.halted.is_none() && self.changes.bytes() <= COMMIT_BYTES
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
        if !self.changes.is_empty() {
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
        Ok(())
    }

    /// Forgets the rows that were only read.
    pub(super) fn forget_reads(&mut self) {
        self.changes.clear();
    }

    /// Tells readers how far it has come.
    pub(super) fn publish_progress(&self, position: Position) {
        if self.shown {
            self.published.show_further(&self.build, position, self.cursor.stored);
        } else {
            self.published.set_under_way(position);
        }
    }
}
