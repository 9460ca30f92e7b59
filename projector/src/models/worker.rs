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
use std::time::{Duration, Instant};

use bitacora_formats::{After, LedgerId, ModelCursor, Position, Record, RecordData, service_source};
use bitacora_ledger::{Head, ReadError, VisitedRecord};
use bitacora_vocabulary::{EventData as _, WarmCut};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, watch};

use super::ReadModelsInner;
use super::fold::Fold;
use super::model::{EVERY_KIND, FoldError, FoldEvent};
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::store::{RowIntegrityError, Store};
use crate::limits::{FOLD_EVENTS, FOLLOW_PAUSE, MAX_RETRY_PAUSE, RETRY_PAUSE};

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
    pub(super) failures: ReadFailures,
    /// The time before which nothing is folded beside what answers: the disk had too little room.
    pub(super) begins_after: Option<Instant>,
}

/// A group of a thread's builds. Each has its own place in the log, so that no fold from the first event holds up another build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuildGroup {
    /// The builds that answer, mostly near the head.
    Shown,
    /// The builds that do not answer yet.
    Unshown,
    /// The recalled build of one model, which readers asked for.
    Recalled(&'static str),
}

impl BuildGroup {
    fn of(fold: &Fold) -> Self {
        match &fold.recall {
            Some(recall) if !recall.is_ready() => Self::Recalled(fold.build.model.name()),
            None if !fold.shown => Self::Unshown,
            _ => Self::Shown,
        }
    }

    /// The groups that there are, the one that answers first.
    fn all(folds: &[Fold]) -> Vec<Self> {
        let mut groups = vec![Self::Shown, Self::Unshown];
        groups.extend(folds.iter().map(Self::of).filter(|group| matches!(group, Self::Recalled(_))));
        groups
    }

    fn has(self, fold: &Fold) -> bool {
        Self::of(fold) == self
    }
}

/// The groups whose events could not be read from the log. Each rests for a time, which doubles for those that do not answer.
#[derive(Default)]
pub(super) struct ReadFailures(Vec<ReadFailure>);

struct ReadFailure {
    group: BuildGroup,
    why: String,
    pause: Duration,
    /// The next attempt.
    again: Instant,
}

impl ReadFailures {
    fn of(&self, group: BuildGroup) -> Option<&str> {
        self.0.iter().find(|failure| failure.group == group).map(|failure| failure.why.as_str())
    }

    /// Returns `true` while the group rests.
    fn rests(&self, group: BuildGroup, now: Instant) -> bool {
        self.0.iter().any(|failure| failure.group == group && failure.again > now)
    }

    pub(super) fn set(&mut self, group: BuildGroup, error: &ReadError, now: Instant) {
        let before = self.0.iter().find(|failure| failure.group == group).map(|failure| failure.pause);
        let pause = match before {
            Some(before) if group != BuildGroup::Shown => (before * 2).min(MAX_RETRY_PAUSE),
            _ => RETRY_PAUSE,
        };
        self.clear(group);
        let why = format!("the log could not be read: {error}");
        self.0.push(ReadFailure { group, why, pause, again: now + pause });
    }

    fn clear(&mut self, group: BuildGroup) {
        self.0.retain(|failure| failure.group != group);
    }

    /// Forgets the groups that are not there any more.
    fn keep(&mut self, groups: &[BuildGroup]) {
        self.0.retain(|failure| groups.contains(&failure.group));
    }

    /// Returns the time up to the next attempt.
    fn pause(&self, now: Instant) -> Option<Duration> {
        self.0.iter().map(|failure| failure.again.saturating_duration_since(now)).min()
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

/// Returns the position of a cut, where this is its event, which the service itself recorded.
fn cut_through(record: &Record<'_>, ledger: LedgerId) -> Option<u64> {
    if record.kind != WarmCut::KIND || record.source != service_source(ledger) {
        return None;
    }
    let json = match &record.data {
        RecordData::Json(json) => json.as_bytes(),
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
            self.catch_up()?;
            self.publish_failures();
            if !self.inner.is_ending() {
                self.wait_for_news();
            }
        }
        self.store_at_the_end()
    }

    /// Folds every group up to the durable head. Groups take turns, one portion each, so that neither waits for the other.
    fn catch_up(&mut self) -> Result<(), RowIntegrityError> {
        // A build that answers is tried again in each round.
        self.failures.clear(BuildGroup::Shown);
        while !self.inner.is_ending() {
            self.look_after_builds()?;
            let head = self.inner.ledger.head().position;
            let mut has_progress = self.cut_further()?;
            let groups = BuildGroup::all(&self.folds);
            self.failures.keep(&groups);
            for group in groups {
                // A group whose events could not be read rests. The others may stand where the log is whole.
                let rests = self.failures.rests(group, Instant::now());
                let Some(portion) = self.next_portion(group, head).filter(|_| !rests) else {
                    continue;
                };
                has_progress = true;
                match self.fold_portion(group, portion) {
                    Ok(()) => self.failures.clear(group),
                    Err(FoldRunError::Read(error)) => self.failures.set(group, &error, Instant::now()),
                    // Rows of all models are in one store, so that nothing goes on without it.
                    Err(FoldRunError::Store(integrity_error)) => return Err(integrity_error),
                }
            }
            if !has_progress {
                break;
            }
        }
        Ok(())
    }

    /// Makes a piece of each cut that may be made now: of what answers, and of what is about to take its place.
    fn cut_further(&mut self) -> Result<bool, RowIntegrityError> {
        let head = self.inner.ledger.head().position.get();
        // What replaces a build that met a late event keeps its rows for a time.
        let late = self.folds.iter().filter(|fold| fold.shown && fold.is_late());
        let late: Vec<_> = late.map(|fold| Arc::clone(&fold.published)).collect();
        let replaces_late = |fold: &Fold| late.iter().any(|late| Arc::ptr_eq(late, &fold.published));
        let may_cut = |fold: &&mut Fold| {
            fold.recall.is_none() && (fold.shown || fold.is_near(head) && !replaces_late(fold))
        };
        let mut has_cut = false;
        for fold in self.folds.iter_mut().filter(may_cut) {
            has_cut |= fold.cut_further()?;
        }
        Ok(has_cut)
    }

    /// Returns the events that a group reads next; `None` where it has come to the head.
    fn next_portion(&self, group: BuildGroup, head: Position) -> Option<Portion> {
        let of_group = self.folds.iter().filter(|fold| group.has(fold) && !fold.stands());
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
            if let Some(through) = cut_through(&seen.record, ledger.id()) {
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
        BuildGroup::all(&self.folds).into_iter().try_for_each(|group| match self.store(group, true) {
            Err(FoldRunError::Store(integrity_error)) => Err(integrity_error),
            // Events whose rows are not stored are folded again by the next opening.
            Err(FoldRunError::Read(_)) | Ok(()) => Ok(()),
        })
    }

    /// Publishes for each model the failure that keeps it from being folded, or that there is none. A model with a build that answers
    /// is judged by that build alone, whatever is folded beside it.
    fn publish_failures(&self) {
        let answers = |published: &Arc<PublishedModel>| {
            self.folds.iter().any(|fold| fold.shown && Arc::ptr_eq(&fold.published, published))
        };
        for fold in &self.folds {
            let failure = self.failures.of(BuildGroup::of(fold));
            if let Some(recall) = &fold.recall {
                recall.set_failure(failure);
            } else if fold.shown || !answers(&fold.published) {
                fold.published.set_failure(failure);
            }
        }
    }

    /// Waits for a new head, for a wish of a reader or an operator, or for the next attempt after a failure.
    fn wait_for_news(&mut self) {
        // So that a recalled build goes that nobody asks any more, or begins once there is a place.
        let look = self.has_recalls().then(|| self.inner.recalls.pause());
        let rows = self.folds.iter().filter_map(Fold::keeps_rows_for).min();
        let retry = self.failures.pause(Instant::now());
        let pause = [look, rows, retry].into_iter().flatten().min();
        let answers = self.failures.of(BuildGroup::Shown).is_none();
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
                changed = heads.changed(), if answers => changed.is_ok(),
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
