//! The builds of its models that a thread folds: begun, shown, replaced and let go.

use std::sync::Arc;

use bitacora_formats::RowSum;

use super::fold::Fold;
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::store::RowIntegrityError;
use super::worker::Worker;

/// Of each model there is at most one build that answers, one that does not yet, and one that is recalled.
impl Worker<'_> {
    /// Folds again what readers doubted, and beside what is asked what an operator wants folded again; shows what has caught
    /// up.
    pub(super) fn look_after_builds(&mut self) -> Result<(), RowIntegrityError> {
        for published in self.suspect() {
            published.clear_suspect();
            if published.has_stopped() {
                self.end(&published)?;
            } else {
                self.let_go(|fold| Arc::ptr_eq(&fold.published, &published))?;
                self.begin(&published)?;
            }
        }
        let asked: Vec<_> =
            self.published.iter().filter(|published| published.take_asked_again()).map(Arc::clone).collect();
        for published in asked {
            self.begin_again(&published)?;
        }
        for published in self.outdated() {
            self.begin(&published)?;
        }
        self.look_after_recalls()?;
        self.show_what_caught_up()
    }

    /// The models whose builds all began before content of their events expired.
    fn outdated(&self) -> Vec<Arc<PublishedModel>> {
        let head = self.inner.ledger.head().position.get();
        let is_outdated = |published: &&Arc<PublishedModel>| {
            // One that began now could read what is about to go.
            if published.expired_at() >= head {
                return false;
            }
            let mut of_it = self.builds_of(published).peekable();
            // One that does not answer yet is folded to its end first: there are never more than two.
            of_it.peek().is_some() && of_it.all(|fold| fold.shown && published.is_outdated(&fold.build))
        };
        self.published.iter().filter(is_outdated).map(Arc::clone).collect()
    }

    fn suspect(&self) -> Vec<Arc<PublishedModel>> {
        self.folds.iter().filter(|fold| fold.is_suspect()).map(|fold| Arc::clone(&fold.published)).collect()
    }

    /// Folds a model again from the first event on, because somebody asked for it. One that is being folded and answers nobody yet is
    /// folded to its end instead.
    fn begin_again(&mut self, published: &Arc<PublishedModel>) -> Result<(), RowIntegrityError> {
        let of_it = |fold: &Fold| Arc::ptr_eq(&fold.published, published);
        let answers = self.folds.iter().any(|fold| fold.shown && of_it(fold));
        if !answers && self.builds_of(published).next().is_some() {
            return Ok(());
        }
        let stopped: Vec<_> =
            self.stopped.extract_if(.., |(other, _)| Arc::ptr_eq(other, published)).collect();
        if !stopped.is_empty() {
            stopped.iter().try_for_each(|(_, build)| self.store.remove(build))?;
            published.hide();
        }
        self.let_go(|fold| !fold.shown && fold.recall.is_none() && of_it(fold))?;
        self.begin(published)
    }

    /// The builds of a model but for a recalled one.
    fn builds_of<'b>(&'b self, published: &'b Arc<PublishedModel>) -> impl Iterator<Item = &'b Fold> {
        let is_of_it = move |fold: &&Fold| fold.recall.is_none() && Arc::ptr_eq(&fold.published, published);
        self.folds.iter().filter(is_of_it)
    }

    /// Folds a model again of which a build was found not to be believed; what answers goes on, unless it is that.
    pub(super) fn begin_instead_of(&mut self, halted: &Fold) -> Result<(), RowIntegrityError> {
        self.store.remove(&halted.build)?;
        if halted.shown {
            halted.published.hide();
        }
        self.let_go(|fold| !fold.shown && Arc::ptr_eq(&fold.published, &halted.published))?;
        self.begin(&halted.published)
    }

    /// Begins a build. A recalled one of the model goes first: an opening takes up the oldest build, which must not be that.
    pub(super) fn begin(&mut self, published: &Arc<PublishedModel>) -> Result<(), RowIntegrityError> {
        self.let_go(|fold| fold.recall.is_some() && Arc::ptr_eq(&fold.published, published))?;
        let head = self.inner.ledger.head().position;
        let build = self.store.next(published.model, &self.inner.key, head)?;
        self.folds.push(Fold::new(Arc::clone(published), build, None));
        Ok(())
    }

    /// Folds a model no further that a reader found to be wrong; its rows stay as evidence of the reason.
    fn end(&mut self, published: &Arc<PublishedModel>) -> Result<(), RowIntegrityError> {
        let of_it = |fold: &Fold| Arc::ptr_eq(&fold.published, published);
        self.let_go(|fold| !fold.shown && of_it(fold))?;
        let ended = self.folds.extract_if(.., |fold| of_it(fold));
        self.stopped.extend(ended.map(|fold| (fold.published, fold.build)));
        Ok(())
    }

    pub(super) fn let_go(&mut self, which: impl Fn(&Fold) -> bool) -> Result<(), RowIntegrityError> {
        let gone: Vec<_> = self.folds.extract_if(.., |fold| which(fold)).collect();
        gone.iter().try_for_each(|fold| self.store.remove(&fold.build))
    }

    /// Shows the builds that have caught up. Each takes the place of the build that answered until now.
    fn show_what_caught_up(&mut self) -> Result<(), RowIntegrityError> {
        let head = self.inner.ledger.head().position.get();
        let ready: Vec<Replacement> =
            (0..self.folds.len()).filter_map(|number| self.replacement(number, head)).collect();
        let mut replaced = Vec::new();
        for Replacement { number, before, is_late } in ready {
            let Some(fold) = self.folds.get_mut(number) else { continue };
            // Both have folded the same events, so their rows must come to the same sum, unless content of events expired between their
            // beginnings. Where they do not, the new ones are taken: they were folded from the log just now.
            let are_alike = |before: &Build| {
                fold.published.is_outdated(before) == fold.published.is_outdated(&fold.build)
            };
            let differs = |(sum, build): &(Option<RowSum>, Arc<Build>)| {
                are_alike(build) && sum.is_some_and(|sum| fold.is_whole() && sum != fold.cursor.sum())
            };
            if before.as_ref().is_some_and(differs) {
                fold.published.count_integrity_error(&RowIntegrityError::Digest);
            }
            if is_late {
                fold.cut_after(self.inner.recalls.bounds().unused);
            }
            replaced.extend(before.map(|(_, build)| build));
            fold.show();
        }
        self.let_go(|fold| replaced.iter().any(|build| Arc::ptr_eq(build, &fold.build)))
    }

    /// Returns a fold that may be shown now, and what it replaces. A first build may be shown near the head, where it is soon
    /// complete. A second one must stand exactly where the build stands that answers, or answers would go back.
    fn replacement(&self, number: usize, head: u64) -> Option<Replacement> {
        let fold = self.folds.get(number).filter(|fold| !fold.shown && fold.cursor.is_stored())?;
        if fold.recall.is_some() {
            return None;
        }
        let mut others =
            self.builds_of(&fold.published).filter(|other| !Arc::ptr_eq(&other.build, &fold.build));
        let before = others.next();
        // Rows that have yet to leave the one and have left the other would look like a difference.
        let has_cut_to_make = |fold: &Fold| fold.cursor.has_cut_to_make();
        let has_caught_up = match before {
            // It stands before an event that it cannot take in.
            Some(before) if before.is_late() => {
                fold.is_near(head) && fold.cursor.folded() >= before.cursor.folded()
            }
            Some(before) => {
                let are_cut = !has_cut_to_make(before) && !has_cut_to_make(fold);
                before.cursor.folded() == fold.cursor.folded() && are_cut
            }
            None => fold.is_near(head),
        };
        let is_late = before.is_some_and(Fold::is_late);
        // A build that met a late event is not what the log comes to.
        let before = before.map(|before| {
            (Some(before.cursor.sum()).filter(|_| before.is_whole()), Arc::clone(&before.build))
        });
        has_caught_up.then_some(Replacement { number, before, is_late })
    }
}

/// A build that is shown next.
struct Replacement {
    /// Its number among the folds.
    number: usize,
    /// The build that answered until now, and the sum of its rows.
    before: Option<(Option<RowSum>, Arc<Build>)>,
    /// That build met a late event.
    is_late: bool,
}
