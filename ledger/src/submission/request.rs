//! The request of an append, and its conditions.

use bitacora_formats::{After, Event, StreamVersion};

/// The events of one append: all of them, in this order, or none.
#[derive(Debug, Clone, Default)]
pub struct AppendRequest<'a> {
    /// 1 to [`MAX_REQUEST_EVENTS`](bitacora_formats::limits::MAX_REQUEST_EVENTS) events.
    pub events: Vec<Event<'a>>,
    /// The expected version of the stream; all events must then be of one stream.
    pub expected: Option<ExpectedVersion>,
    /// The events that must not have happened.
    pub condition: Option<AppendCondition>,
}

impl<'a> AppendRequest<'a> {
    /// These events, without a condition.
    #[must_use]
    pub fn of(events: Vec<Event<'a>>) -> Self {
        Self { events, expected: None, condition: None }
    }
}

/// The version a stream must be at before the append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// The stream has no event yet (`If-None-Match: *`).
    NoStream,
    /// The stream's last event has this version (`If-Match: "v17"`).
    Exact(StreamVersion),
}

/// Refuses the append if an event past `after` matches (a dynamic consistency boundary).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendCondition {
    /// An event matches only if it is of one of these types; empty means any type.
    pub kinds: Vec<String>,
    /// An event matches only if it carries all of these tags.
    pub tags: Vec<String>,
    /// The last position the caller had seen when it decided.
    pub after: After,
}
