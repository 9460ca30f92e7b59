//! The folding thread: reads durable events once for several models, and stores the rows of each.
//!
//! A round has these phases, in this order:
//!
//! 1. `look_after_builds` (`rebuilds.rs`): begins, shows and removes builds.
//! 2. `next_portion`: the range of events that a group of builds reads next, up to the durable head.
//! 3. `read_portion`: each event is read once, and given to the builds that its kind concerns.
//! 4. `settle_halted`: a build that could not take in an event ends, or is begun again.
//! 5. `store`: rows and cursors go into the store, and readers learn how far each build has come.
//!
//! Phases 2 to 5 repeat until every group has come to the head. Then the thread waits for news.

use std::collections::HashMap;
use std::sync::Arc;

use bitacora_formats::{After, ModelCursor, Position, Record, RecordData};
use bitacora_ledger::{Head, ReadError, VisitedRecord};
use bitacora_vocabulary::{EventData as _, WarmCut};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, watch};

use super::ReadModelsInner;
use super::fold::Fold;
use super::model::{EVERY_KIND, FoldError, FoldEvent};
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::recall::RecallGuard;
use super::store::{RowIntegrityError, Store};
use crate::limits::{FOLD_EVENTS, FOLLOW_PAUSE, RETRY_PAUSE};

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

/// The two groups of a thread's builds. Each has its own place in the log, so that a rebuild from the first event never holds up the
/// builds that answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BuildGroup {
    /// The builds that answer, mostly near the head.
    Shown,
    /// The builds that do not answer yet.
    Unshown,
}

impl BuildGroup {
    const ALL: [Self; 2] = [Self::Shown, Self::Unshown];

    fn of(fold: &Fold) -> Self {
        let answers = fold.shown || fold.recall.as_ref().is_some_and(RecallGuard::is_ready);
        if answers { Self::Shown } else { Self::Unshown }
    }

    fn has(self, fold: &Fold) -> bool {
        Self::of(fold) == self
    }
}

/// The reasons for which each group's events could not be read from the log.
#[derive(Default)]
struct ReadFailures {
    shown: Option<String>,
    unshown: Option<String>,
}

impl ReadFailures {
    fn of(&self, group: BuildGroup) -> Option<&str> {
        match group {
            BuildGroup::Shown => self.shown.as_deref(),
            BuildGroup::Unshown => self.unshown.as_deref(),
        }
    }

    fn set(&mut self, group: BuildGroup, error: &ReadError) {
        let why = Some(format!("the log could not be read: {error}"));
        match group {
            BuildGroup::Shown => self.shown = why,
            BuildGroup::Unshown => self.unshown = why,
        }
    }

    fn is_any(&self) -> bool {
        self.shown.is_some() || self.unshown.is_some()
    }
}

/// The events that a group reads next. No more than [`FOLD_EVENTS`], because they are stored together.
#[derive(Debug, Clone, Copy)]
struct Portion {
    first: u64,
    last: Position,
}

/// The folds that each kind of event concerns, by their numbers in [`Worker::folds`].
struct FoldsByKind {
    of_kind: HashMap<&'static str, Vec<usize>>,
    /// The folds that take every kind.
    of_any: Vec<usize>,
}

impl FoldsByKind {
    fn new(folds: &[Fold], group: BuildGroup) -> Self {
        let mut of_kind: HashMap<&'static str, Vec<usize>> = HashMap::new();
        for (number, fold) in folds.iter().enumerate().filter(|(_, fold)| group.has(fold)) {
            for kind in fold.build.model.kinds() {
                of_kind.entry(kind).or_default().push(number);
            }
        }
        let of_any = of_kind.remove(EVERY_KIND).unwrap_or_default();
        for numbers in of_kind.values_mut() {
            numbers.extend(&of_any);
        }
        Self { of_kind, of_any }
    }

    fn of(&self, kind: &str) -> &[usize] {
        self.of_kind.get(kind).unwrap_or(&self.of_any)
    }
}

/// Returns the position of a cut, where this is its event.
fn cut_through(record: &Record<'_>) -> Option<u64> {
    let json = match &record.data {
        RecordData::Json(json) if record.kind == WarmCut::KIND => json.as_bytes(),
        _ => return None,
    };
    // One that does not read as one cuts nothing, today and whenever it is folded again.
    serde_json::from_slice::<WarmCut>(json).ok().map(|cut| cut.through.get().get())
}

impl Worker<'_> {
    /// Folds until the ledger is closed.
    ///
    /// # Errors
    /// A [`RowIntegrityError`] of the store, which has to be opened again.
    pub(crate) fn run(&mut self) -> Result<(), RowIntegrityError> {
        while !self.inner.is_ending() {
            // Before the log is read: a head that is published meanwhile ends the wait at once.
            self.heads.mark_unchanged();
            let failures = self.catch_up()?;
            self.publish_failures(&failures);
            if !self.inner.is_ending() {
                self.wait_for_news(&failures);
            }
        }
        self.store_at_the_end()
    }

    /// Folds every group up to the durable head. Groups take turns, one portion each, so that neither waits for the other.
    fn catch_up(&mut self) -> Result<ReadFailures, RowIntegrityError> {
        let mut failures = ReadFailures::default();
        while !self.inner.is_ending() {
            self.look_after_builds()?;
            let head = self.inner.ledger.head().position;
            let mut has_progress = self.cut_further()?;
            for group in BuildGroup::ALL {
                // A group whose events could not be read rests until the next round. The other one may stand where the log is whole.
                let Some(portion) = self.next_portion(group, head).filter(|_| failures.of(group).is_none())
                else {
                    continue;
                };
                has_progress = true;
                match self.fold_portion(group, portion) {
                    Ok(()) => {}
                    Err(FoldRunError::Read(error)) => failures.set(group, &error),
                    // Rows of all models are in one store, so that nothing goes on without it.
                    Err(FoldRunError::Store(integrity_error)) => return Err(integrity_error),
                }
            }
            if !has_progress {
                break;
            }
        }
        Ok(failures)
    }

    /// Makes a piece of each cut that may be made now: of what answers, and of what is about to take its place.
    fn cut_further(&mut self) -> Result<bool, RowIntegrityError> {
        let head = self.inner.ledger.head().position.get();
        let may_cut = |fold: &&mut Fold| fold.recall.is_none() && (fold.shown || fold.is_near(head));
        let mut has_cut = false;
        for fold in self.folds.iter_mut().filter(may_cut) {
            has_cut |= fold.cut_further()?;
        }
        Ok(has_cut)
    }

    /// Returns the events that a group reads next; `None` where it has come to the head.
    fn next_portion(&self, group: BuildGroup, head: Position) -> Option<Portion> {
        let of_group = self.folds.iter().filter(|fold| group.has(fold));
        let first = of_group.map(|fold| fold.cursor.next()).min().filter(|first| *first <= head.get())?;
        let last = Position::new(first + FOLD_EVENTS - 1).map_or(head, |last| last.min(head));
        Some(Portion { first, last })
    }

    fn fold_portion(&mut self, group: BuildGroup, portion: Portion) -> Result<(), FoldRunError> {
        self.read_portion(group, portion)?;
        self.settle_halted()?;
        self.store(group, false)
    }

    /// Gives each event of a portion to the builds that its kind concerns.
    fn read_portion(&mut self, group: BuildGroup, portion: Portion) -> Result<(), FoldRunError> {
        let by_kind = FoldsByKind::new(&self.folds, group);
        let (ledger, folds) = (&self.inner.ledger, &mut self.folds);
        ledger.visit(After::new(portion.first - 1), portion.last, &mut |seen: &VisitedRecord<'_>| {
            if let Some(through) = cut_through(&seen.record) {
                folds
                    .iter_mut()
                    .filter(|fold| group.has(fold))
                    .for_each(|fold| fold.note_cut(seen.position, through));
                return;
            }
            let numbers = by_kind.of(&seen.record.kind);
            // Reading the data costs more than this look, and most events concern no model. Rows tell nothing of what expired.
            if numbers.is_empty() || seen.record.expired().is_some() {
                return;
            }
            let event = FoldEvent::new(seen.position, seen.time, &seen.record);
            for number in numbers {
                if let Some(fold) = folds.get_mut(*number) {
                    fold.take(&event);
                }
            }
        })?;
        // Only now: after a read error, no build may pass events that it has not seen.
        for fold in folds.iter_mut().filter(|fold| group.has(fold)) {
            fold.pass(portion.last);
        }
        Ok(())
    }

    /// Takes out the builds that an event halted, and does with each what its error asks for.
    fn settle_halted(&mut self) -> Result<(), FoldRunError> {
        let halted: Vec<_> = self.folds.extract_if(.., |fold| fold.halted.is_some()).collect();
        for mut fold in halted {
            match fold.halted.take() {
                // The store itself fails: it would fail for every build.
                Some((_, FoldError::Row(integrity_error))) if integrity_error.is_of_the_store() => {
                    return Err(FoldRunError::Store(integrity_error));
                }
                Some((at, error)) if fold.recall.is_some() => {
                    self.end_recall(&fold, at, &error).map_err(FoldRunError::Store)?;
                }
                // Rows that were damaged in the store: they are folded again from the log.
                Some((_, FoldError::Row(integrity_error))) if !fold.build.is_defect(&integrity_error) => {
                    fold.published.count_integrity_error(&integrity_error);
                    self.begin_instead_of(&fold).map_err(FoldRunError::Store)?;
                }
                // A defect of the model, or an event that contradicts it. It would halt there again, so the model stops, and its
                // rows stay as evidence.
                Some((at, error)) => {
                    fold.published.stop(format!("position {at}: {error}"));
                    self.stopped.push((fold.published, fold.build));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Stores the builds of a group, each with its cursor, and publishes how far each has come.
    fn store(&mut self, group: BuildGroup, at_the_end: bool) -> Result<(), FoldRunError> {
        let ledger = &self.inner.ledger;
        for fold in self.folds.iter_mut().filter(|fold| group.has(fold)) {
            let Some(position) = Position::new(fold.cursor.folded()) else { continue };
            if fold.must_commit(at_the_end) {
                // The frame's hashes tie the cursor to this history: a log that took another way does not take up the rows.
                let frame = ledger.frame_of(position)?;
                let cursor = ModelCursor {
                    ledger: ledger.id(),
                    position,
                    previous: frame.previous,
                    tree_root: frame.tree_root,
                    sum: fold.cursor.sum(),
                    cut: fold.cursor.cut(),
                };
                fold.commit(cursor).map_err(FoldRunError::Store)?;
            } else {
                fold.forget_reads();
            }
            // Behind the commit: what readers may ask for is stored, or changed no row.
            fold.publish_progress(position);
        }
        Ok(())
    }

    fn store_at_the_end(&mut self) -> Result<(), RowIntegrityError> {
        BuildGroup::ALL.into_iter().try_for_each(|group| match self.store(group, true) {
            Err(FoldRunError::Store(integrity_error)) => Err(integrity_error),
            // Events whose rows are not stored are folded again by the next opening.
            Err(FoldRunError::Read(_)) | Ok(()) => Ok(()),
        })
    }

    /// Publishes for each model the failure that keeps it from being folded, or that there is none. A model with a build that answers
    /// is judged by that build alone, whatever is folded beside it.
    fn publish_failures(&self, failures: &ReadFailures) {
        let answers = |published: &Arc<PublishedModel>| {
            self.folds.iter().any(|fold| fold.shown && Arc::ptr_eq(&fold.published, published))
        };
        for fold in &self.folds {
            let failure = failures.of(BuildGroup::of(fold));
            if let Some(recall) = &fold.recall {
                recall.set_failure(failure);
            } else if fold.shown || !answers(&fold.published) {
                fold.published.set_failure(failure);
            }
        }
    }

    /// Waits for a new head, for a wish of a reader or an operator, or for the next attempt after a failure.
    fn wait_for_news(&mut self, failures: &ReadFailures) {
        let has_recalls = self.folds.iter().any(|fold| fold.recall.is_some());
        let pause = match (failures.is_any(), has_recalls) {
            (true, _) => Some(RETRY_PAUSE),
            // So that one that nobody asks any more goes.
            (false, true) => Some(self.inner.recalls.pause()),
            (false, false) => None,
        };
        let (wake, heads) = (&self.wake, &mut self.heads);
        self.waiting.block_on(async {
            let retry = async {
                match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            let has_new_head = tokio::select! {
                // A new head does not mend what cannot be read, and a busy log would turn each one into an attempt.
                changed = heads.changed(), if failures.of(BuildGroup::Shown).is_none() => changed.is_ok(),
                () = wake.notified() => false,
                () = retry => false,
            };
            // Heads gather for a moment, which makes one batch of many. A reader that waits ends the pause.
            if has_new_head {
                tokio::select! {
                    () = tokio::time::sleep(FOLLOW_PAUSE) => {}
                    () = wake.notified() => {}
                }
            }
        });
    }
}
