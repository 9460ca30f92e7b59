//! A record as it was sent, apart from its encoding, and what its resource and scope tell of it.

use std::borrow::Cow;

use crate::error::RecordFault;
use crate::limits::{MAX_CONTEXT_BYTES, MAX_OTLP_ATTRIBUTES, MAX_OTLP_DEPTH, MAX_OTLP_VALUES};
use crate::value::{AnyValue, Attribute};

/// The signal of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Spans of traces.
    Traces,
    /// Log records.
    Logs,
}

/// A span or a log record.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ExportedRecord<'a> {
    /// The name of a span, or the event name of a log record.
    pub(crate) name: Cow<'a, str>,
    pub(crate) trace: Option<[u8; 16]>,
    pub(crate) span: Option<[u8; 8]>,
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) flags: u32,
    /// Nanoseconds since 1970: the begin of a span, the time of a log record; 0 where it is not known.
    pub(crate) time: u64,
    /// The end of a span, or the time at which a log record was seen.
    pub(crate) end: u64,
    pub(crate) status: StatusCode,
    /// The text of a span's status.
    pub(crate) message: Cow<'a, str>,
    pub(crate) body: AnyValue<'a>,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

/// The status of a span.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusCode {
    #[default]
    Unset,
    Ok,
    Error,
}

impl StatusCode {
    pub(crate) fn of(number: u64) -> Self {
        match number {
            1 => Self::Ok,
            2 => Self::Error,
            _ => Self::Unset,
        }
    }
}

/// The facts that a resource and a scope tell of all their records.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RecordContext {
    pub(crate) service: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) scope: Option<String>,
}

impl RecordContext {
    /// Keeps an attribute of a resource, if records tell it. Few are kept, and short ones: a resource has any number of
    /// records, and each repeats them.
    pub(crate) fn keep(&mut self, key: &str, value: &AnyValue<'_>) {
        let AnyValue::Text(text) = value else { return };
        match key {
            "service.name" => self.service = short(text),
            "session.id" => self.session = short(text),
            _ => {}
        }
    }

    /// The same resource with this scope.
    pub(crate) fn in_scope(&self, name: &str) -> Self {
        Self { scope: short(name), ..self.clone() }
    }

    /// Returns `true` if records tell an attribute of this name.
    pub(crate) fn wants(key: &str) -> bool {
        matches!(key, "service.name" | "session.id")
    }
}

fn short(text: &str) -> Option<String> {
    (!text.is_empty() && text.len() <= MAX_CONTEXT_BYTES).then(|| text.to_owned())
}

/// An id of so many bytes, unless it is of another length or all zeros, which is none.
pub(crate) fn id_of<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let id: [u8; N] = bytes.try_into().ok()?;
    (id != [0; N]).then_some(id)
}

/// The values that a record may still have.
#[derive(Debug)]
pub(crate) struct ValueBudget {
    values: usize,
    attributes: usize,
}

impl ValueBudget {
    pub(crate) fn new() -> Self {
        Self { values: MAX_OTLP_VALUES, attributes: MAX_OTLP_ATTRIBUTES }
    }

    /// Takes an attribute of the record.
    pub(crate) fn attribute(&mut self) -> Result<(), RecordFault> {
        self.attributes = self.attributes.checked_sub(1).ok_or(RecordFault::TooManyAttributes)?;
        Ok(())
    }

    /// Takes a value at this depth.
    pub(crate) fn value(&mut self, depth: usize) -> Result<(), RecordFault> {
        if depth > MAX_OTLP_DEPTH {
            return Err(RecordFault::TooDeep);
        }
        self.values = self.values.checked_sub(1).ok_or(RecordFault::TooManyValues)?;
        Ok(())
    }
}
