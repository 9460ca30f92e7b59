//! What a read model is: which events it folds, and how.

use bitacora_formats::{Micros, Position, Record, RecordData, parse_time};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::event_views::Readings;
use super::rows::Rows;
use super::store::Doubt;

/// A read model: rows folded from the events of some types. All of one stands in one file, its queries beside its fold.
///
/// A fold is a pure function of the events and of the rows that it made of those before: it reads no clock and no other
/// model, so that folding again gives the same rows.
pub(crate) trait Model: Send + Sync {
    /// Its name, for people and for its keys: letters and `-`.
    fn name(&self) -> &'static str;

    /// Changes whenever the same events would give other rows: those of another version are folded again.
    fn version(&self) -> u32;

    /// The types of events that it is shown, or [`EVERY_KIND`] alone.
    fn kinds(&self) -> &'static [&'static str];

    /// Takes in one event.
    ///
    /// # Errors
    /// A [`FoldError`] stops the model where it stands: it skips no event.
    fn fold(&self, event: &Folded<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError>;
}

/// Stands in [`Model::kinds`] for all types there are.
pub(crate) const EVERY_KIND: &str = "*";

/// Why a model does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldError {
    /// The data of an event is not what its type says.
    #[error("its data is not what its type says: {0}")]
    Data(#[from] serde_json::Error),
    /// What the model made of earlier events contradicts this one.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A row could not be read. The model is folded again.
    #[error(transparent)]
    Row(#[from] Doubt),
}

/// A durable event, as a fold sees it.
pub(crate) struct Folded<'a> {
    /// Its position.
    pub(crate) position: Position,
    /// The time of its frame.
    pub(crate) time: Micros,
    /// The record. What a data subject's part holds is not in it.
    pub(crate) record: &'a Record<'a>,
    /// What of its data models have read so far.
    pub(super) readings: Readings<'a>,
}

impl<'a> Folded<'a> {
    pub(super) fn new(position: Position, time: Micros, record: &'a Record<'a>) -> Self {
        Self { position, time, record, readings: Readings::default() }
    }

    /// Its data as JSON, read into `T`; `None` where it is sealed under a data subject's key, or there is none.
    pub(crate) fn data<T: Deserialize<'a>>(&self) -> Result<Option<T>, FoldError> {
        match &self.record.data {
            RecordData::Json(json) => Ok(Some(serde_json::from_slice(json.as_bytes())?)),
            RecordData::None | RecordData::Binary(_) | RecordData::Sealed(_) => Ok(None),
        }
    }

    /// What a call is known by among all calls of the log: of what was recorded elsewhere the id says nothing apart from the stream.
    pub(crate) fn call_values<'b>(&'b self, call: &'b str, is_imported: bool) -> [&'b str; 2] {
        [if is_imported { &*self.record.stream } else { "" }, call]
    }

    /// When it happened: what was recorded elsewhere says so itself, everything else happened when it was recorded.
    pub(crate) fn happened(&self, assurance: Option<Imported>) -> Micros {
        let own = self.record.time.as_deref().filter(|_| assurance.is_some());
        own.and_then(|time| parse_time(time).ok()).unwrap_or(self.time)
    }
}

/// Stands for the member `assurance` of data that was recorded elsewhere and brought here.
pub(crate) type Imported = IgnoredAny;
