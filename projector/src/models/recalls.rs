//! The recalled builds that a thread folds: begun when asked for, and let go when nobody asks any more. A build that met a late event is
//! replaced by a recalled one, or by one that is begun for that.

use std::sync::Arc;

use bitacora_formats::Position;

use super::fold::Fold;
use super::model::FoldError;
use super::published_model::PublishedModel;
use super::recall::RecallGuard;
use super::store::RowIntegrityError;
use super::worker::Worker;

impl Worker<'_> {
    /// Begins, shows and removes recalled builds, and has models replaced that met a late event.
    pub(super) fn look_after_recalls(&mut self) -> Result<(), RowIntegrityError> {
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
                None if is_late && published.expired_at() < head => self.begin(&published)?,
                None => self.begin_recall(&published)?,
            }
        }
        Ok(())
    }

    fn begin_recall(&mut self, published: &Arc<PublishedModel>) -> Result<(), RowIntegrityError> {
        if published.has_stopped() || !published.recall.is_asked(self.inner.recalls.unused()) {
            return Ok(());
        }
        let head = self.inner.ledger.head().position;
        // One that began now could read content that is about to expire.
        if published.expired_at() >= head.get() {
            return Ok(());
        }
        let Some(guard) = RecallGuard::take(published, &self.inner.recalls, &self.inner.recalled) else {
            published.recall.set_no_slot();
            return Ok(());
        };
        let build = self.store.next(published.model, &self.inner.key, head)?;
        let mut fold = Fold::new(Arc::clone(published), build, None);
        fold.recall = Some(guard);
        self.folds.push(fold);
        Ok(())
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
        if is_gone || guard.is_unused() && !is_late {
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
