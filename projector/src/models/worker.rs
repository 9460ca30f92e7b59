//! Folding: a thread that reads what became durable once for several models, and stores what each makes of it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bitacora_formats::{After, ModelCursor, Position, RowSum};
use bitacora_ledger::{Head, ReadError, VisitedRecord};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, watch};

use super::ReadModelsInner;
use super::build::Build;
use super::kept::Kept;
use super::model::{EVERY_KIND, FoldError, Folded};
use super::rows::{Changes, Rows};
use super::store::{Doubt, Store, guarded};
use crate::limits::{COMMIT_BYTES, FOLD_EVENTS, FOLLOW_PAUSE, IDLE_COMMIT_EVENTS, RETRY_PAUSE};

/// Why folding does not go on for now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The log could not be read; tried again.
    #[error("the log could not be read: {0}")]
    Read(#[from] ReadError),
    /// The store is closed and opened again.
    #[error(transparent)]
    Store(Doubt),
}

/// Folds some of the models until the end, or until the store fails.
pub(crate) struct Worker<'a> {
    pub(crate) inner: &'a ReadModelsInner,
    pub(crate) store: &'a Store,
    pub(crate) folds: Vec<Fold>,
    pub(crate) heads: watch::Receiver<Head>,
    pub(crate) wake: Arc<Notify>,
    pub(crate) waiting: Runtime,
}

/// One build on its way.
pub(crate) struct Fold {
    pub(crate) kept: Arc<Kept>,
    pub(crate) build: Arc<Build>,
    /// The last event that is folded.
    position: u64,
    sum: RowSum,
    /// What is stored.
    stored: Option<ModelCursor>,
    changes: Changes,
    /// Whether readers were answered from it.
    shown: bool,
    /// The event that it could not take in, and why: it takes none any more.
    halted: Option<(Position, FoldError)>,
}

impl Fold {
    /// Goes on with a build that is believed.
    pub(crate) fn new(kept: Arc<Kept>, build: Arc<Build>, cursor: Option<ModelCursor>) -> Self {
        let (position, sum) =
            cursor.map_or((0, RowSum::default()), |cursor| (cursor.position.get(), cursor.sum));
        let changes = if cursor.is_none() { Changes::of_new_build() } else { Changes::default() };
        Self { kept, build, position, sum, stored: cursor, changes, shown: false, halted: None }
    }

    /// Readers are answered from it from now on.
    pub(crate) fn show(&mut self) {
        if let Some(position) = Position::new(self.position) {
            self.shown = true;
            self.changes.forget_seen();
            self.kept.show(&self.build, position, self.stored);
        }
    }

    /// Whether a reader found rows in it that are not to be believed.
    fn is_doubted(&self) -> bool {
        self.shown && !self.kept.is_live(&self.build)
    }

    fn next(&self) -> u64 {
        self.position + 1
    }

    /// Takes in an event; one that it cannot take in halts it there.
    fn take(&mut self, event: &Folded<'_>) {
        if self.halted.is_some() || self.changes.bytes() > COMMIT_BYTES {
            return;
        }
        let mut rows = Rows::new(&self.build, &mut self.changes);
        let model = self.build.model;
        match catch_unwind(AssertUnwindSafe(|| model.fold(event, &mut rows))) {
            Ok(Ok(())) if self.changes.lack_a_row() => {
                self.halt(event.position, FoldError::Contradiction("its fold kept a row that it took"));
            }
            Ok(Ok(())) => self.position = event.position.get(),
            Ok(Err(error)) => self.halt(event.position, error),
            Err(_) => self.halt(event.position, FoldError::Contradiction("its fold panicked")),
        }
    }

    /// It stands where it was stored last: what it made of the event that halted it, it may have made in part.
    fn halt(&mut self, at: Position, error: FoldError) {
        self.halted = Some((at, error));
        self.changes.clear();
        self.position = self.stored.map_or(0, |stored| stored.position.get());
    }

    /// All events up to here are not its own, or are folded.
    fn pass(&mut self, until: Position) {
        if self.halted.is_none() && self.changes.bytes() <= COMMIT_BYTES {
            self.position = self.position.max(until.get());
        }
    }
}

impl Worker<'_> {
    /// Folds until the ledger is closed.
    ///
    /// # Errors
    /// A [`Doubt`] of the store, which has to be opened again.
    pub(crate) fn run(&mut self) -> Result<(), Doubt> {
        while !self.inner.is_ending() {
            self.heads.mark_unchanged();
            let failure = match self.round() {
                Ok(()) => None,
                Err(Failure::Store(doubt)) => return Err(doubt),
                Err(read @ Failure::Read(_)) => Some(read.to_string()),
            };
            for fold in &self.folds {
                fold.kept.set_failure(failure.as_deref());
            }
            if !self.inner.is_ending() {
                self.wait(failure.is_some());
            }
        }
        match self.store_all(true) {
            Err(Failure::Store(doubt)) => Err(doubt),
            // What is not stored is folded again by the next opening.
            Err(Failure::Read(_)) | Ok(()) => Ok(()),
        }
    }

    /// Folds up to the durable head.
    fn round(&mut self) -> Result<(), Failure> {
        while !self.inner.is_ending() {
            self.look_after_builds().map_err(Failure::Store)?;
            let head = self.inner.ledger.head().position;
            let Some(first) = self.folds.iter().map(Fold::next).min() else { return Ok(()) };
            if first > head.get() {
                return Ok(());
            }
            let until = Position::new(first + FOLD_EVENTS - 1).map_or(head, |portion| portion.min(head));
            self.read(first, until)?;
            self.settle()?;
        }
        Ok(())
    }

    /// Shows each model the events of its types.
    fn read(&mut self, first: u64, until: Position) -> Result<(), Failure> {
        let mut of_kind: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, fold) in self.folds.iter().enumerate() {
            for kind in fold.build.model.kinds() {
                of_kind.entry(kind).or_default().push(number);
            }
        }
        let every = of_kind.remove(EVERY_KIND).unwrap_or_default();
        for numbers in of_kind.values_mut() {
            numbers.extend(&every);
        }
        let folds = &mut self.folds;
        let ledger = &self.inner.ledger;
        ledger.visit(After::new(first - 1), until, &mut |seen: &VisitedRecord<'_>| {
            let numbers = of_kind.get(&*seen.record.kind).unwrap_or(&every);
            if numbers.is_empty() {
                return;
            }
            let event = Folded::new(seen.position, seen.time, &seen.record);
            for number in numbers {
                if let Some(fold) = folds.get_mut(*number).filter(|fold| fold.position < seen.position.get())
                {
                    fold.take(&event);
                }
            }
        })?;
        for fold in folds {
            fold.pass(until);
        }
        Ok(())
    }

    /// Stores what each made of the events, shows it, and ends those that halted.
    fn settle(&mut self) -> Result<(), Failure> {
        let mut halted = Vec::new();
        self.folds.retain_mut(|fold| match fold.halted.take() {
            Some((at, error)) => {
                halted.push((Arc::clone(&fold.kept), at, error));
                false
            }
            None => true,
        });
        for (kept, at, error) in halted {
            match error {
                FoldError::Row(doubt) if doubt.is_of_the_store() => return Err(Failure::Store(doubt)),
                FoldError::Row(doubt) => {
                    kept.count_doubt(&doubt);
                    kept.hide();
                    self.begin(&kept).map_err(Failure::Store)?;
                }
                error => kept.stop(format!("position {at}: {error}")),
            }
        }
        self.store_all(false)
    }

    fn store_all(&mut self, at_the_end: bool) -> Result<(), Failure> {
        let inner = self.inner;
        for fold in &mut self.folds {
            let Some(position) = Position::new(fold.position) else { continue };
            let behind = fold.position - fold.stored.map_or(0, |stored| stored.position.get());
            let idle = fold.changes.is_empty();
            if idle && (behind == 0 || behind < IDLE_COMMIT_EVENTS && !at_the_end && fold.stored.is_some()) {
                fold.changes.clear();
            } else {
                let frame = inner.ledger.frame_of(position)?;
                let (ledger, previous, tree_root) = (inner.ledger.id(), frame.previous, frame.tree_root);
                let cursor = ModelCursor { ledger, position, previous, tree_root, sum: fold.sum };
                let stored = guarded(|| fold.build.commit(&mut fold.changes, cursor));
                let stored = stored.map_err(Failure::Store)?;
                (fold.sum, fold.stored) = (stored.sum, Some(stored));
            }
            if fold.kept.is_live(&fold.build) {
                fold.kept.show(&fold.build, position, fold.stored);
            } else if !fold.shown {
                fold.kept.set_under_way(position);
            }
        }
        Ok(())
    }

    /// Folds again what readers doubted, and beside what is asked what an operator wants folded again; shows what has caught
    /// up.
    fn look_after_builds(&mut self) -> Result<(), Doubt> {
        let doubted: Vec<_> =
            self.folds.iter().filter(|fold| fold.is_doubted()).map(|fold| Arc::clone(&fold.kept)).collect();
        for kept in doubted {
            self.let_go(|fold| Arc::ptr_eq(&fold.kept, &kept))?;
            self.begin(&kept)?;
        }
        let asked: Vec<_> = self
            .folds
            .iter()
            .filter(|fold| fold.shown && fold.kept.take_asked_again())
            .map(|fold| Arc::clone(&fold.kept))
            .collect();
        for kept in asked {
            self.let_go(|fold| !fold.shown && Arc::ptr_eq(&fold.kept, &kept))?;
            self.begin(&kept)?;
        }
        self.show_what_caught_up()
    }

    fn begin(&mut self, kept: &Arc<Kept>) -> Result<(), Doubt> {
        let build = self.store.next(kept.model, &self.inner.key)?;
        self.folds.push(Fold::new(Arc::clone(kept), build, None));
        Ok(())
    }

    fn let_go(&mut self, which: impl Fn(&Fold) -> bool) -> Result<(), Doubt> {
        let gone: Vec<_> = self.folds.extract_if(.., |fold| which(fold)).collect();
        gone.iter().try_for_each(|fold| self.store.remove(&fold.build))
    }

    /// A build that has come to where the one before it stands takes its place; a first one once it is near the head.
    fn show_what_caught_up(&mut self) -> Result<(), Doubt> {
        let head = self.inner.ledger.head().position.get();
        let stands = |number: usize, fold: &Fold| {
            let before = self
                .folds
                .iter()
                .enumerate()
                .find(|(at, other)| *at != number && Arc::ptr_eq(&other.kept, &fold.kept));
            (
                before.map(|(at, _)| at),
                before.map_or(head.saturating_sub(fold.position) < FOLD_EVENTS, |(_, before)| {
                    before.position == fold.position
                }),
            )
        };
        let ready: Vec<(usize, Option<usize>)> = (self.folds.iter().enumerate())
            .filter(|(_, fold)| !fold.shown && fold.stored.is_some())
            .filter_map(|(number, fold)| match stands(number, fold) {
                (before, true) => Some((number, before)),
                _ => None,
            })
            .collect();
        let mut replaced = Vec::new();
        for (number, before) in ready {
            let before = before
                .and_then(|before| self.folds.get(before))
                .map(|before| (before.sum, Arc::clone(&before.build)));
            let Some(fold) = self.folds.get_mut(number) else { continue };
            if before.as_ref().is_some_and(|(sum, _)| *sum != fold.sum) {
                fold.kept.count_doubt(&Doubt::Digest);
            }
            replaced.extend(before.map(|(_, build)| build));
            fold.show();
        }
        self.let_go(|fold| replaced.iter().any(|build| Arc::ptr_eq(build, &fold.build)))
    }

    fn wait(&mut self, failing: bool) {
        let (wake, heads) = (&self.wake, &mut self.heads);
        self.waiting.block_on(async {
            if failing {
                tokio::select! {
                    () = tokio::time::sleep(RETRY_PAUSE) => {}
                    () = wake.notified() => {}
                }
                return;
            }
            let news = tokio::select! {
                changed = heads.changed() => changed.is_ok(),
                () = wake.notified() => false,
            };
            if news {
                tokio::select! {
                    () = tokio::time::sleep(FOLLOW_PAUSE) => {}
                    () = wake.notified() => {}
                }
            }
        });
    }
}
