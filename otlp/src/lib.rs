//! OTLP: requests of OpenTelemetry exporters, as telemetry events of a ledger.
//!
//! [`check`] looks at a whole request and keeps nothing of it. [`for_each`] then goes through its records one by one, so that
//! a request of a million spans needs no more memory than its bytes and one record. Both encodings are read: protobuf and
//! JSON. This crate has no I/O and no clock, and it decides nothing.

mod answer;
mod error;
mod json;
mod limits;
mod mapping;
mod protobuf;
mod record;
mod request;
mod value;
mod wire;

pub use answer::{ExportAnswer, status_bytes};
pub use error::{MalformedRequest, RecordFault};
pub use limits::{
    MAX_OTLP_ATTRIBUTES, MAX_OTLP_DATA_BYTES, MAX_OTLP_DEPTH, MAX_OTLP_REQUEST_BYTES, MAX_OTLP_TEXT_BYTES,
    MAX_OTLP_VALUES,
};
pub use mapping::{MappedRecord, Telemetry};
pub use record::Signal;
pub use request::{Encoding, check, for_each};
