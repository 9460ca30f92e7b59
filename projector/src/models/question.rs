//! A question to read models: asked of the builds that lie on this disk, and again of recalled ones where rows have left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_formats::Position;

use super::ReadModels;
use super::status::ModelError;

/// The findings of one question while it is answered.
#[derive(Default)]
pub(crate) struct Question {
    /// The models that are asked by their recalled builds, each from this position on, so that no answer goes back.
    recalled: Vec<(&'static str, Position)>,
    /// A model of which a row had left.
    met: Mutex<Option<(&'static str, Position)>>,
    /// The model whose recalled build is not there yet.
    waits: Mutex<Option<(&'static str, Position)>>,
    is_cold: AtomicBool,
}

impl Question {
    /// Returns the position from which on a model is asked by its recalled build.
    pub(super) fn recalled_from(&self, model: &str) -> Option<Position> {
        self.recalled.iter().find(|(recalled, _)| *recalled == model).map(|(_, position)| *position)
    }

    /// Notes that the answer is not whole without rows that left.
    pub(super) fn meet(&self, model: &'static str, position: Position) -> ModelError {
        *self.met.lock().unwrap_or_else(PoisonError::into_inner) = Some((model, position));
        ModelError::Recalling { model, position: 0, of: position.get() }
    }

    pub(super) fn wait_for(&self, model: &'static str, position: Position) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some((model, position));
    }

    /// Notes that an archive may be read for the answer.
    pub(super) fn read_cold(&self) {
        self.is_cold.store(true, Ordering::Relaxed);
    }

    fn met(&self) -> Option<(&'static str, Position)> {
        *self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer of read models.
#[derive(Debug)]
pub struct TieredAnswer<T, E> {
    /// The answer.
    pub answer: Result<T, E>,
    /// `true` if it is of rows that left the store, or of events in archives.
    pub is_cold: bool,
    /// The model whose recalled build is not there yet, and the position that it has to come to.
    pub waits_for: Option<(&'static str, Position)>,
}

impl ReadModels {
    /// Asks a question. Where it meets rows that left the store, its answer is thrown away, and it is asked again of builds of these models
    /// that are folded from the first event: they are begun now, where they are not there.
    pub fn ask<T, E>(&self, ask: impl Fn(&Self) -> Result<T, E>) -> TieredAnswer<T, E> {
        let mut recalled: Vec<(&'static str, Position)> = Vec::new();
        loop {
            let question = Question { recalled: recalled.clone(), ..Question::default() };
            let models = self.with(question);
            let answer = ask(&models);
            let question = &models.question;
            // An answer that stands did without the row. Of each model once: a recalled build has all its rows.
            let met = question.met().filter(|_| answer.is_err());
            let met = met.filter(|(met, _)| question.recalled_from(met).is_none());
            let Some(met) = met else {
                return TieredAnswer {
                    answer,
                    is_cold: !recalled.is_empty() || question.is_cold.load(Ordering::Relaxed),
                    waits_for: *question.waits.lock().unwrap_or_else(PoisonError::into_inner),
                };
            };
            self.inner.ask_recall(met.0);
            recalled.push(met);
        }
    }

    /// Waits until the recalled build of a model has every event up to `position`. Cancel-safe.
    pub async fn wait_recalled(&self, model: &str, position: Position) {
        let Some(published) = self.inner.published(model) else { return };
        let mut reached = published.recall.watch_position();
        let _waited = reached.wait_for(|reached| *reached >= position.get()).await;
    }

    fn with(&self, question: Question) -> Self {
        let question = Arc::new(question);
        let log = self.log.for_question(&question);
        Self { inner: Arc::clone(&self.inner), log, owner: Arc::clone(&self.owner), question }
    }
}
