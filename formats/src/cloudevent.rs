//! CloudEvents 1.0 in JSON: from a request's body to events, and back to bytes.
//!
//! `data` is never re-serialised: it is checked, kept and written back as the bytes it came in.

mod attribute;
mod grammar;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;

use crate::event::{Event, EventError};
use crate::json::{JsonError, JsonErrorKind, invalid_utf8};
use crate::limits::{MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS};

pub use writer::{write_event, write_event_line};

/// The one version of CloudEvents that is taken and written.
pub(crate) const SPEC_VERSION: &str = "1.0";

/// The forms in which a request's body may hold events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// `application/cloudevents+json`: one event.
    Structured,
    /// `application/cloudevents-batch+json`: an array of events.
    Batch,
    /// `application/x-ndjson`: one event a line; lines of nothing but white space are passed over.
    Ndjson,
    /// `application/json`: one event, or an array of them.
    Json,
}

/// An error in a request's body, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The line of the body, from 1: always in NDJSON, elsewhere only where the JSON itself is broken.
    pub line: Option<usize>,
    /// The byte in that line, from 1, where the JSON itself is broken.
    pub column: Option<usize>,
    /// The value at fault as a JSON pointer, in NDJSON within its line: `/3/source`. Empty for the whole.
    pub pointer: String,
    /// The kind of error.
    pub kind: ParseErrorKind,
}

/// A kind of error in a request's body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// Not the JSON that is taken.
    #[error(transparent)]
    Json(#[from] JsonErrorKind),
    /// JSON, but not an object where an event is expected.
    #[error("not an event; a CloudEvent is a json object")]
    NotAnEvent,
    /// JSON, but not an array where a batch is expected.
    #[error("not a batch; application/cloudevents-batch+json is an array of events")]
    NotABatch,
    /// `specversion` is something else than `1.0`.
    #[error("specversion is not \"1.0\", the only one that is taken")]
    SpecVersion,
    /// An attribute that cannot be taken.
    #[error(transparent)]
    Attribute(#[from] EventError),
    /// Both `data` and `data_base64`.
    #[error("data and data_base64 together; send one of them")]
    DataTwice,
    /// `subject` is another stream than the one the request is for.
    #[error("subject is another stream than the request's; leave it out or send the event to its stream")]
    StreamMismatch,
    /// No event at all.
    #[error("no event; send at least one")]
    EmptyBatch,
    /// More than [`MAX_REQUEST_EVENTS`].
    #[error("more than {MAX_REQUEST_EVENTS} events; send them in several requests")]
    TooManyEvents,
    /// More than [`MAX_REQUEST_BYTES`].
    #[error("more than {MAX_REQUEST_BYTES} bytes; send several requests")]
    RequestTooLarge,
}

impl ParseError {
    /// The stable name of the problem in answers over HTTP.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ParseErrorKind::Json(kind) => kind.code(),
            ParseErrorKind::NotAnEvent => "not-an-event",
            ParseErrorKind::NotABatch => "not-a-batch",
            ParseErrorKind::SpecVersion => "bad-specversion",
            ParseErrorKind::Attribute(error) => error.code(),
            ParseErrorKind::DataTwice => "data-and-data-base64",
            ParseErrorKind::StreamMismatch => "stream-mismatch",
            ParseErrorKind::EmptyBatch => "empty-batch",
            ParseErrorKind::TooManyEvents => "too-many-events",
            ParseErrorKind::RequestTooLarge => "request-too-large",
        }
    }

    fn whole(kind: ParseErrorKind) -> Self {
        Self { line: None, column: None, pointer: String::new(), kind }
    }
}

impl From<JsonError> for ParseError {
    fn from(error: JsonError) -> Self {
        Self {
            line: Some(error.line),
            column: Some(error.column),
            pointer: error.pointer,
            kind: error.kind.into(),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}")?;
            if let Some(column) = self.column {
                write!(f, " column {column}")?;
            }
            f.write_str(if self.pointer.is_empty() { ": " } else { ", at " })?;
        } else if !self.pointer.is_empty() {
            f.write_str("at ")?;
        }
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer.escape_debug())?;
        }
        write!(f, "{}", self.kind)
    }
}

impl std::error::Error for ParseError {}

/// Reads the events of a request's body. They borrow from it wherever a text is written without escapes.
///
/// An event without `subject` belongs to `default_stream`, the stream that the request is addressed to, if there is
/// one. Attributes whose value is `null` are absent; `data` that is `null` is the JSON value `null`.
///
/// # Errors
///
/// The first problem in reading order; reading stops at the first event too many.
pub fn parse_events<'a>(
    body: &'a [u8],
    form: BodyForm,
    default_stream: Option<&'a str>,
) -> Result<Vec<Event<'a>>, ParseError> {
    if body.len() > MAX_REQUEST_BYTES {
        return Err(ParseError::whole(ParseErrorKind::RequestTooLarge));
    }
    let text = std::str::from_utf8(body).map_err(|error| invalid_utf8(body, error.valid_up_to()))?;
    let is_array = || text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('[');
    match form {
        BodyForm::Structured => Ok(vec![reader::read_event(text, default_stream)?]),
        BodyForm::Batch => reader::read_batch(text, default_stream),
        BodyForm::Json if is_array() => reader::read_batch(text, default_stream),
        BodyForm::Json => Ok(vec![reader::read_event(text, default_stream)?]),
        BodyForm::Ndjson => read_lines(text, default_stream),
    }
}

fn read_lines<'a>(text: &'a str, default_stream: Option<&'a str>) -> Result<Vec<Event<'a>>, ParseError> {
    let mut events = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            continue;
        }
        let in_line = |error| ParseError { line: Some(index + 1), ..error };
        if events.len() == MAX_REQUEST_EVENTS {
            return Err(in_line(ParseError::whole(ParseErrorKind::TooManyEvents)));
        }
        events.push(reader::read_event(line, default_stream).map_err(in_line)?);
    }
    if events.is_empty() { Err(ParseError::whole(ParseErrorKind::EmptyBatch)) } else { Ok(events) }
}
