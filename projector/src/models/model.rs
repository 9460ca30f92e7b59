//! A read model: the events that it folds, and its fold.

use bitacora_formats::{Micros, Position, Record, RecordData, parse_time};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::event_views::Readings;
use super::rows::Rows;
use super::store::RowIntegrityError;

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

    /// The tables whose rows leave the store at a cut, once no event behind it wrote them: `warm_cut.rs`. Each such row has content, and a
    /// fold that reads one wrote it not long before. Sums stay, and what later events rest on.
    fn leaving(&self) -> &'static [u8] {
        &[]
    }

    /// Takes in one event.
    ///
    /// # Errors
    /// A [`FoldError`] stops the model where it stands: it skips no event.
    fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError>;
}

/// Stands in [`Model::kinds`] for all types there are.
pub(crate) const EVERY_KIND: &str = "*";

/// The reasons for which a model does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldError {
    /// The data of an event is not what its type says.
    #[error("its data is not what its type says: {0}")]
    Data(#[from] serde_json::Error),
    /// The rows that the model made of earlier events contradict this one.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A row could not be read. The model is folded again.
    #[error(transparent)]
    Row(#[from] RowIntegrityError),
}

/// A durable event, as a fold sees it.
pub(crate) struct FoldEvent<'a> {
    /// Its position.
    pub(crate) position: Position,
    /// The time of its frame.
    pub(crate) time: Micros,
    /// The record. The content of a data subject's part is not in it.
    pub(crate) record: &'a Record<'a>,
    /// The parts of its data that models have read so far.
    pub(super) readings: Readings<'a>,
}

impl<'a> FoldEvent<'a> {
    pub(super) fn new(position: Position, time: Micros, record: &'a Record<'a>) -> Self {
        Self { position, time, record, readings: Readings::default() }
    }

    /// Its data as JSON, read into `T`; `None` where it is sealed under a data subject's key, or there is none.
    pub(crate) fn data<T: Deserialize<'a>>(&self) -> Result<Option<T>, FoldError> {
        match &self.record.data {
            RecordData::Json(json) => Ok(Some(serde_json::from_slice(json.as_bytes())?)),
            RecordData::None | RecordData::Binary(_) | RecordData::Sealed(_) | RecordData::Expired(_) => {
                Ok(None)
            }
        }
    }

    /// Returns the name of a call among all calls of the log. The id of a call recorded elsewhere says nothing apart from the stream.
    pub(crate) fn call_values<'b>(&'b self, call: &'b str, is_imported: bool) -> [&'b str; 2] {
        [if is_imported { &*self.record.stream } else { "" }, call]
    }

    /// Returns the time at which it happened. A recording made elsewhere states it itself; everything else happened when it was recorded.
    pub(crate) fn happened(&self, assurance: Option<AssuranceMarker>) -> Micros {
        let own = self.record.time.as_deref().filter(|_| assurance.is_some());
        own.and_then(|time| parse_time(time).ok()).unwrap_or(self.time)
    }
}

/// Stands for the member `assurance` of data that was recorded elsewhere and brought here.
pub(crate) type AssuranceMarker = IgnoredAny;
