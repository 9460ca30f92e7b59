//! The folding thread: reads durable events once for several models, and stores the rows of each.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bitacora_formats::{After, ModelCursor, Position, RowSum};
use bitacora_ledger::{Head, ReadError, VisitedRecord};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, watch};

use super::ReadModelsInner;
use super::model::{EVERY_KIND, FoldError, FoldEvent};
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::rows::{Changes, Rows};
use super::store::{RowIntegrityError, Store, guarded};
use crate::limits::{COMMIT_BYTES, FOLD_EVENTS, FOLLOW_PAUSE, IDLE_COMMIT_EVENTS, RETRY_PAUSE};

/// The reasons for which folding does not go on for now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldRunError {
    /// The log could not be read; tried again.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store is closed and opened again.
    #[error(transparent)]
    Store(RowIntegrityError),
}

/// Folds some of the models until the end, or until the store fails.
pub(crate) struct Worker<'a> {
    pub(crate) inner: &'a ReadModelsInner,
    pub(crate) store: &'a Store,
    /// All models that it folds.
    pub(crate) published: Vec<Arc<PublishedModel>>,
    pub(crate) folds: Vec<Fold>,
    /// The builds of models that stopped.
    pub(crate) stopped: Vec<(Arc<PublishedModel>, Arc<Build>)>,
    pub(crate) heads: watch::Receiver<Head>,
    pub(crate) wake: Arc<Notify>,
    pub(crate) waiting: Runtime,
}

/// The two parts of a thread's builds; each is read from where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BuildGroup {
    /// The builds that answer, mostly near the head.
    Shown,
    /// The builds that do not answer yet.
    Unshown,
}

impl BuildGroup {
    const ALL: [Self; 2] = [Self::Shown, Self::Unshown];

    fn has(self, fold: &Fold) -> bool {
        fold.shown == (self == Self::Shown)
    }
}

/// The reasons for which each part's events could not be read from the log.
#[derive(Default)]
struct ReadFailures {
    shown: Option<String>,
    unshown: Option<String>,
}

impl ReadFailures {
    fn of(&self, part: BuildGroup) -> Option<&str> {
        match part {
            BuildGroup::Shown => self.shown.as_deref(),
            BuildGroup::Unshown => self.unshown.as_deref(),
        }
    }

    fn set(&mut self, part: BuildGroup, error: &ReadError) {
        let why = Some(format!("the log could not be read: {error}"));
        match part {
            BuildGroup::Shown => self.shown = why,
            BuildGroup::Unshown => self.unshown = why,
        }
    }

    fn is_any(&self) -> bool {
        self.shown.is_some() || self.unshown.is_some()
    }
}

/// One build on its way.
pub(crate) struct Fold {
    pub(crate) published: Arc<PublishedModel>,
    pub(crate) build: Arc<Build>,
    /// The last event that is folded.
    pub(super) position: u64,
    pub(super) sum: RowSum,
    /// The cursor that is stored.
    pub(super) stored: Option<ModelCursor>,
    changes: Changes,
    /// `true` if readers were answered from it.
    pub(super) shown: bool,
    /// The event that it could not take in, and why: it takes none any more.
    halted: Option<(Position, FoldError)>,
}

impl Fold {
    /// Goes on with a build that is believed.
    pub(crate) fn new(
        published: Arc<PublishedModel>,
        build: Arc<Build>,
        cursor: Option<ModelCursor>,
    ) -> Self {
        let (position, sum) =
            cursor.map_or((0, RowSum::default()), |cursor| (cursor.position.get(), cursor.sum));
        let changes = if cursor.is_none() { Changes::of_new_build() } else { Changes::default() };
        Self { published, build, position, sum, stored: cursor, changes, shown: false, halted: None }
    }

    /// Readers are answered from it from now on.
    pub(crate) fn show(&mut self) {
        if let Some(position) = Position::new(self.position) {
            self.shown = true;
            self.changes.forget_seen();
            self.published.show(&self.build, position, self.stored);
        }
    }

    /// Returns `true` if a reader found rows in it that are not to be believed.
    pub(super) fn is_doubted(&self) -> bool {
        self.shown && !self.published.is_live(&self.build)
    }

    fn next(&self) -> u64 {
        self.position + 1
    }

    /// Takes in an event; one that it cannot take in halts it there.
    fn take(&mut self, event: &FoldEvent<'_>) {
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
    /// A [`RowIntegrityError`] of the store, which has to be opened again.
    pub(crate) fn run(&mut self) -> Result<(), RowIntegrityError> {
        while !self.inner.is_ending() {
            self.heads.mark_unchanged();
            let failing = self.round()?;
            self.tell(&failing);
            if !self.inner.is_ending() {
                self.wait(&failing);
            }
        }
        BuildGroup::ALL.into_iter().try_for_each(|part| match self.store_all(part, true) {
            Err(FoldRunError::Store(doubt)) => Err(doubt),
            // Events whose rows are not stored are folded again by the next opening.
            Err(FoldRunError::Read(_)) | Ok(()) => Ok(()),
        })
    }

    /// Folds up to the durable head: what answers, and beside it what does not yet, so that neither waits for the other.
    fn round(&mut self) -> Result<ReadFailures, RowIntegrityError> {
        let mut failing = ReadFailures::default();
        while !self.inner.is_ending() {
            self.look_after_builds()?;
            let head = self.inner.ledger.head().position;
            let mut goes_on = false;
            for part in BuildGroup::ALL {
                let Some(until) = self.portion(part, head).filter(|_| failing.of(part).is_none()) else {
                    continue;
                };
                goes_on = true;
                match self.read(part, until).and_then(|()| self.settle(part)) {
                    Ok(()) => {}
                    Err(FoldRunError::Store(doubt)) => return Err(doubt),
                    Err(FoldRunError::Read(error)) => failing.set(part, &error),
                }
            }
            if !goes_on {
                break;
            }
        }
        Ok(failing)
    }

    /// Up to where a part is read next; `None` where it has come to the head.
    fn portion(&self, part: BuildGroup, head: Position) -> Option<Position> {
        let first = self.first(part).filter(|first| *first <= head.get())?;
        Some(Position::new(first + FOLD_EVENTS - 1).map_or(head, |portion| portion.min(head)))
    }

    /// The first event that one of a part has not folded.
    fn first(&self, part: BuildGroup) -> Option<u64> {
        self.folds.iter().filter(|fold| part.has(fold)).map(Fold::next).min()
    }

    /// Says of each model whether it can be folded now. One that answers is judged by that alone, whatever is folded beside it.
    fn tell(&self, failing: &ReadFailures) {
        let answers = |published: &Arc<PublishedModel>| {
            self.folds.iter().any(|fold| fold.shown && Arc::ptr_eq(&fold.published, published))
        };
        for fold in self.folds.iter().filter(|fold| fold.shown || !answers(&fold.published)) {
            let part = if fold.shown { BuildGroup::Shown } else { BuildGroup::Unshown };
            fold.published.set_failure(failing.of(part));
        }
    }

    /// Shows each model the events of its types.
    fn read(&mut self, part: BuildGroup, until: Position) -> Result<(), FoldRunError> {
        let Some(first) = self.first(part) else { return Ok(()) };
        let mut of_kind: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, fold) in self.folds.iter().enumerate().filter(|(_, fold)| part.has(fold)) {
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
            let event = FoldEvent::new(seen.position, seen.time, &seen.record);
            for number in numbers {
                if let Some(fold) = folds.get_mut(*number).filter(|fold| fold.position < seen.position.get())
                {
                    fold.take(&event);
                }
            }
        })?;
        for fold in folds.iter_mut().filter(|fold| part.has(fold)) {
            fold.pass(until);
        }
        Ok(())
    }

    /// Stores what each made of the events, shows it, and ends those that halted.
    fn settle(&mut self, part: BuildGroup) -> Result<(), FoldRunError> {
        let halted: Vec<_> = self.folds.extract_if(.., |fold| fold.halted.is_some()).collect();
        for mut fold in halted {
            match fold.halted.take() {
                Some((_, FoldError::Row(doubt))) if doubt.is_of_the_store() => {
                    return Err(FoldRunError::Store(doubt));
                }
                Some((_, FoldError::Row(doubt))) if !fold.build.is_defect(&doubt) => {
                    fold.published.count_doubt(&doubt);
                    self.begin_instead_of(&fold).map_err(FoldRunError::Store)?;
                }
                Some((at, error)) => {
                    fold.published.stop(format!("position {at}: {error}"));
                    self.stopped.push((fold.published, fold.build));
                }
                None => {}
            }
        }
        self.store_all(part, false)
    }

    fn store_all(&mut self, part: BuildGroup, at_the_end: bool) -> Result<(), FoldRunError> {
        let inner = self.inner;
        for fold in self.folds.iter_mut().filter(|fold| part.has(fold)) {
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
                let stored = stored.map_err(FoldRunError::Store)?;
                (fold.sum, fold.stored) = (stored.sum, Some(stored));
            }
            if fold.shown {
                fold.published.show_further(&fold.build, position, fold.stored);
            } else {
                fold.published.set_under_way(position);
            }
        }
        Ok(())
    }

    fn wait(&mut self, failing: &ReadFailures) {
        let (wake, heads) = (&self.wake, &mut self.heads);
        self.waiting.block_on(async {
            let retry = async {
                match failing.is_any() {
                    true => tokio::time::sleep(RETRY_PAUSE).await,
                    false => std::future::pending().await,
                }
            };
            let news = tokio::select! {
                changed = heads.changed(), if failing.of(BuildGroup::Shown).is_none() => changed.is_ok(),
                () = wake.notified() => false,
                () = retry => false,
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
