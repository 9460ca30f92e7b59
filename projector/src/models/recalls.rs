//! The recalled builds that a thread folds: begun when asked for, let go when nobody asks any more, and put in the place of a build that
//! met a late event.

use std::sync::Arc;

use bitacora_formats::Position;

use super::fold::Fold;
use super::model::FoldError;
use super::published_model::PublishedModel;
use super::recall::RecallGuard;
use super::store::RowIntegrityError;
use super::worker::Worker;

impl Worker<'_> {
    /// Begins, shows and removes recalled builds.
    pub(super) fn look_after_recalls(&mut self) -> Result<(), RowIntegrityError> {
        let head = self.inner.ledger.head().position.get();
        for published in self.published.clone() {
            let of_it = |fold: &Fold| Arc::ptr_eq(&fold.published, &published);
            // A build that met a late event is not whole, and is folded again as soon as there is room.
            let is_late =
                self.folds.iter().any(|fold| fold.shown && of_it(fold) && fold.cursor.cut().late > 0);
            let has_next = self.folds.iter().any(|fold| !fold.shown && fold.recall.is_none() && of_it(fold));
            let recalled = self.folds.iter().position(|fold| fold.recall.is_some() && of_it(fold));
            match recalled {
                Some(number) => self.look_after_recall(number, head, is_late, has_next)?,
                None => self.begin_recall(&published, is_late && !has_next)?,
            }
        }
        Ok(())
    }

    fn begin_recall(
        &mut self,
        published: &Arc<PublishedModel>,
        is_late: bool,
    ) -> Result<(), RowIntegrityError> {
        if !is_late && !published.recall.is_asked(self.inner.recalls.unused()) {
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
        has_next: bool,
    ) -> Result<(), RowIntegrityError> {
        let Some(fold) = self.folds.get_mut(number) else { return Ok(()) };
        let Some(guard) = &fold.recall else { return Ok(()) };
        let is_gone = guard.is_suspect() || fold.published.is_outdated(&fold.build);
        if !is_gone && !guard.is_ready() && fold.is_near(head) {
            if let Some(position) = Position::new(fold.cursor.folded()) {
                guard.set_ready(&fold.build, position);
            }
        } else if is_gone || guard.is_unused() && (!is_late || has_next) {
            let fold = self.folds.remove(number);
            return self.store.remove(&fold.build);
        } else if guard.is_unused() && guard.is_ready() {
            // It takes the place of the build that is not whole, once its own rows have left.
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
