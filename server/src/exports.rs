//! Exports of OpenTelemetry: a request is received whole, checked whole, and then appended in chunks.
//!
//! A malformed request leaves nothing behind. A well-formed one is appended in chunks of events, each an append of its own. So
//! an export that ends early is sent again whole, and what is there already counts as a repetition.

mod appender;
mod receiver;
mod status;

pub(crate) use appender::append_export;
pub(crate) use receiver::{discard, receive};
pub(crate) use status::{encoding_of, media_of, tell_in_protocol};
