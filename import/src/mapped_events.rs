//! The events made from a record of a file, or the reason why none is.

use std::borrow::Cow;

use super::event_draft::EventDraft;

/// The most characters of a reason: it quotes the contents of a file.
const MAX_REASON_CHARS: usize = 200;

/// The events made from a record.
#[derive(Debug, Default)]
pub(crate) struct MappedEvents {
    pub events: Vec<EventDraft>,
    /// The number of calls in it that are known to have no outcome.
    pub without_outcome: u64,
    /// The kind of a record that is known and makes no event.
    pub passed_over: Option<Cow<'static, str>>,
}

impl MappedEvents {
    pub(crate) fn passed_over(what: impl Into<Cow<'static, str>>) -> Self {
        Self { passed_over: Some(what.into()), ..Self::default() }
    }
}

/// The reason why no event can be made of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappingRefusal {
    pub reason: String,
}

impl MappingRefusal {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        let reason: String = reason.into();
        Self { reason: reason.chars().take(MAX_REASON_CHARS).collect() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
    pub(crate) fn json(error: serde_json::Error) -> Self {
        // Every record is on a line of its own; the column is all there is to say.
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        Self::new(format!("{what} (byte {})", error.column()))
    }
}
