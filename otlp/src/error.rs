//! Errors: of a whole request, and of one of its records.

use crate::limits::{MAX_OTLP_ATTRIBUTES, MAX_OTLP_DATA_BYTES, MAX_OTLP_DEPTH, MAX_OTLP_VALUES};

/// A request that is not OTLP. Nothing of it is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedRequest {
    /// Protobuf that ends within a field.
    #[error("the protobuf ends within a field, at byte {at}; send the whole message")]
    Truncated {
        /// The offset within the request.
        at: usize,
    },
    /// Protobuf with a field that no message can have.
    #[error("found a field that is not protobuf, at byte {at}")]
    NotProtobuf {
        /// The offset within the request.
        at: usize,
    },
    /// A string that is not UTF-8.
    #[error("found a string that is not UTF-8, at byte {at}")]
    NotUtf8 {
        /// The offset within the request.
        at: usize,
    },
    /// JSON that does not read as the message.
    #[error("the JSON is not the expected message: {0}")]
    NotJson(String),
}

/// The reason for which one record is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum RecordFault {
    /// A span without a trace id of 16 bytes or a span id of 8 bytes, or with one of zeros.
    #[error("no valid trace id and span id")]
    NoIds,
    /// Too many attributes.
    #[error("more than {MAX_OTLP_ATTRIBUTES} attributes")]
    TooManyAttributes,
    /// Too many values.
    #[error("more than {MAX_OTLP_VALUES} values in attributes")]
    TooManyValues,
    /// Values too deep within others.
    #[error("an attribute nested deeper than {MAX_OTLP_DEPTH}")]
    TooDeep,
    /// Data that no event takes.
    #[error("more than {MAX_OTLP_DATA_BYTES} bytes of data")]
    TooLarge,
    /// An event that the ledger refuses.
    #[error("not taken by the ledger")]
    Refused,
}
