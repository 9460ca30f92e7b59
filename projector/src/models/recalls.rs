//! The recalled builds that a thread folds: begun when asked for, and let go when nobody asks any more. A build that met a late event is
//! replaced by a recalled one, or by one that is begun for that. Neither takes the room on the disk that events need.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bitacora_formats::Position;

use super::fold::Fold;
use super::model::FoldError;
use super::published_model::PublishedModel;
use super::recall::RecallGuard;
use super::recall_slots::{RecallRefusal, RecallWait};
use super::store::RowIntegrityError;
use super::worker::Worker;
use crate::limits::RECALL_DISK_PAUSE;

impl Worker<'_> {
    /// Begins, shows and removes recalled builds, and has models replaced that met a late event.
    pub(super) fn look_after_recalls(&mut self) -> Result<(), RowIntegrityError> {
        self.make_room()?;
        let head = self.inner.ledger.head().position.get();
        for published in self.published.clone() {
            let of_it = |fold: &Fold| Arc::ptr_eq(&fold.published, &published);
            let is_next = |fold: &Fold| !fold.shown && fold.recall.is_none() && of_it(fold);
            // One that met a late event itself before it was shown replaces nothing.
            let has_late_next = self.folds.iter().any(|fold| is_next(fold) && fold.is_late());
            if has_late_next {
                self.let_go(|fold| is_next(fold) && fold.is_late())?;
                self.begin(&published)?;
            }
            let is_late = self.folds.iter().any(|fold| fold.shown && of_it(fold) && fold.is_late())
                && !self.folds.iter().any(is_next)
                && !published.has_stopped();
            let recalled = self.folds.iter().position(|fold| fold.recall.is_some() && of_it(fold));
            match recalled {
                Some(number) => self.look_after_recall(number, head, is_late)?,
                // It takes none of the places that readers' questions take.
                None if is_late && published.expired_at() < head && self.lacks_room().is_none() => {
                    self.begin(&published)?;
                }
                None => self.begin_recall(&published)?,
            }
        }
        Ok(())
    }

    fn begin_recall(&mut self, published: &Arc<PublishedModel>) -> Result<(), RowIntegrityError> {
        if published.has_stopped() || !published.recall.is_asked(self.inner.recalls.bounds().unused) {
            published.recall.set_wait(None);
            return Ok(());
        }
        let head = self.inner.ledger.head().position;
        // One that began now could read content that is about to expire.
        if published.expired_at() >= head.get() {
            return Ok(());
        }
        let taken = match self.lacks_room() {
            Some(wait) => Err(wait),
            None => RecallGuard::take(published, &self.inner.recalls, self.inner.ledger.id()),
        };
        let guard = match taken {
            Ok(guard) => guard,
            Err(wait) => {
                published.recall.set_wait(Some(wait));
                return Ok(());
            }
        };
        let build = self.store.next(published.model, &self.inner.key, head)?;
        let mut fold = Fold::new(Arc::clone(published), build, None);
        fold.recall = Some(guard);
        self.folds.push(fold);
        Ok(())
    }

    /// Returns `true` if there is something to look after again in a moment, although no event comes.
    pub(super) fn has_recalls(&self) -> bool {
        let is_looked_after = |fold: &Fold| fold.recall.is_some() || fold.shown && fold.is_late();
        self.folds.iter().any(is_looked_after)
            || self.published.iter().any(|published| published.recall.waits())
    }

    /// Lets the builds go that are folded beside those that answer, where the disk has too little room.
    fn make_room(&mut self) -> Result<(), RowIntegrityError> {
        let late = self.folds.iter().filter(|fold| fold.shown && fold.is_late());
        let late: Vec<_> = late.map(|fold| Arc::clone(&fold.published)).collect();
        let is_beside = |fold: &Fold| {
            let replaces = !fold.shown && late.iter().any(|late| Arc::ptr_eq(late, &fold.published));
            fold.recall.is_some() || replaces
        };
        let least = self.inner.recalls.bounds().free_bytes;
        if !self.folds.iter().any(is_beside) || self.free_bytes() >= least {
            return Ok(());
        }
        tracing::warn!(least, "the disk has little room; rows that left it are not folded again for now");
        self.begins_after = Instant::now().checked_add(RECALL_DISK_PAUSE);
        self.let_go(is_beside)
    }

    /// Says how long nothing is folded again because the disk has too little room. Twice the least is needed to begin, so that what
    /// begins can come to its end.
    fn lacks_room(&self) -> Option<RecallWait> {
        let rest = self.begins_after.map(|after| after.saturating_duration_since(Instant::now()));
        let rest = rest.filter(|rest| !rest.is_zero());
        let least = self.inner.recalls.bounds().free_bytes;
        let lacks = rest.is_some() || self.free_bytes() < least.saturating_mul(2);
        let at_least = rest.unwrap_or_else(|| self.inner.recalls.pause().max(Duration::from_secs(1)));
        lacks.then_some(RecallWait { why: RecallRefusal::Disk, at_least })
    }

    /// Returns the bytes that are free on the disk; as many as may be where that cannot be told.
    fn free_bytes(&self) -> u64 {
        self.inner.environment.disk.free_bytes(&self.inner.folder).unwrap_or(u64::MAX)
    }

    fn look_after_recall(
        &mut self,
        number: usize,
        head: u64,
        is_late: bool,
    ) -> Result<(), RowIntegrityError> {
        let Some(fold) = self.folds.get_mut(number) else { return Ok(()) };
        let Some(guard) = &fold.recall else { return Ok(()) };
        let is_gone = guard.is_suspect() || fold.published.is_outdated(&fold.build);
        if !is_gone
            && !guard.is_ready()
            && fold.is_near(head)
            && let Some(position) = Position::new(fold.cursor.folded())
        {
            guard.set_ready(&fold.build, position);
        }
        if is_gone || (guard.is_unused() || guard.has_to_go()) && !is_late {
            let fold = self.folds.remove(number);
            return self.store.remove(&fold.build);
        }
        // It takes the place of the build that stands before a late event, at once where it is ready.
        if is_late && (guard.is_ready() || guard.is_unused()) {
            fold.recall = None;
        }
        Ok(())
    }

    /// Lets a recalled build go that could not take in an event.
    pub(super) fn end_recall(
        &mut self,
        fold: &Fold,
        at: Position,
        error: &FoldError,
    ) -> Result<(), RowIntegrityError> {
        match error {
            FoldError::Row(integrity_error) if !fold.build.is_defect(integrity_error) => {
                fold.published.count_integrity_error(integrity_error);
            }
            _ => fold.published.recall.end(format!("position {at}: {error}")),
        }
        self.store.remove(&fold.build)
    }
}
