//! The rows of a model as its queries see them: as they stood at one moment.

use std::ops::RangeInclusive;
use std::sync::Arc;

use bitacora_formats::Position;
use fjall::{Readable as _, Snapshot};
use serde::de::DeserializeOwned;

use super::ModelError;
use super::model_tree::Build;
use super::published_model::PublishedModel;
use super::question::Question;
use super::row_key::RowKey;
use super::store::RowIntegrityError;

/// A moment of a model.
pub(crate) struct View {
    published: Arc<PublishedModel>,
    /// Goes before the build, which may be the last to hold the store.
    snapshot: Snapshot,
    build: Arc<Build>,
    /// Every event up to here is in it.
    position: Position,
    question: Arc<Question>,
}

impl View {
    pub(crate) fn new(published: &Arc<PublishedModel>, question: &Arc<Question>) -> Result<Self, ModelError> {
        let model = published.model.name();
        let recalled_from = question.recalled_from(model);
        let (build, shown) = match recalled_from {
            None => published.live()?,
            Some(at_least) => published.recall.answer(model, at_least).inspect_err(|error| {
                if let ModelError::Recalling { .. } = error {
                    question.wait_for(model, at_least);
                }
            })?,
        };
        let snapshot = build.snapshot();
        let (published, question) = (Arc::clone(published), Arc::clone(question));
        let mut view = Self { published, build, snapshot, position: shown, question };
        // Rows that were stored since are seen too; rows that were not stored changed nothing.
        let cursor =
            view.build.cursor_in(&view.snapshot).map_err(|integrity_error| view.suspect(&integrity_error))?;
        view.position = cursor.map_or(shown, |cursor| cursor.position.max(shown));
        Ok(view)
    }

    /// Every event up to here is in what is seen.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// The key of what a table holds for these values.
    pub(crate) fn key(&self, table: u8, values: &[&str]) -> RowKey {
        self.build.key(table, values)
    }

    /// Returns the row under a key.
    pub(crate) fn row<R: DeserializeOwned>(&self, key: &RowKey) -> Result<Option<R>, ModelError> {
        let content = self.build.row_in(&self.snapshot, key);
        let row = content.and_then(|content| content.map(|content| Build::decode(&content)).transpose());
        row.map_err(|integrity_error| self.suspect(&integrity_error))
    }

    /// The rows of a group whose numbers lie in a range, in their order and backwards.
    pub(crate) fn rows<R: DeserializeOwned>(
        &self,
        group: RowKey,
        numbers: RangeInclusive<u64>,
    ) -> impl DoubleEndedIterator<Item = Result<(u64, R), ModelError>> {
        let rows = self.between(group.at(*numbers.start()), group.at(*numbers.end()));
        rows.map(|row| row.map(|(key, row)| (key.last_number(), row)))
    }

    /// The rows from one key to another, both included, in their order and backwards.
    pub(crate) fn between<R: DeserializeOwned>(
        &self,
        first: RowKey,
        last: RowKey,
    ) -> impl DoubleEndedIterator<Item = Result<(RowKey, R), ModelError>> {
        self.contents(first, last).map(|row| {
            let (key, content) = row?;
            Ok((key, Build::decode(&content).map_err(|integrity_error| self.suspect(&integrity_error))?))
        })
    }

    /// Returns the stored contents of the rows from one key to another.
    pub(super) fn contents(
        &self,
        first: RowKey,
        last: RowKey,
    ) -> impl DoubleEndedIterator<Item = Result<(RowKey, Vec<u8>), ModelError>> {
        let (first, last) = (first.as_slice().to_vec(), last.as_slice().to_vec());
        // A range that ends before it begins is none of the store's.
        let entries = (first <= last).then(|| self.snapshot.range(&self.build.keyspace, first..=last));
        entries.into_iter().flatten().map(|entry| {
            let row = entry.into_inner().map_err(RowIntegrityError::from).and_then(|(key, stored)| {
                let key = RowKey::stored(&key).ok_or(RowIntegrityError::Sum)?;
                Ok((key, self.build.open(&key, &stored)?))
            });
            row.map_err(|integrity_error| self.suspect(&integrity_error))
        })
    }

    /// A row that does not open: the model is folded again, and this question is asked again after it.
    fn suspect(&self, integrity_error: &RowIntegrityError) -> ModelError {
        if let RowIntegrityError::Left = integrity_error {
            return self.question.meet(self.published.model.name(), self.position);
        }
        self.published.recall.suspect(&self.build);
        self.published.report_integrity_error(&self.build, integrity_error)
    }
}
