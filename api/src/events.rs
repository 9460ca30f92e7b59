//! Stored events, and pages of them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::HeadReference;

/// A page of stored events. As NDJSON: each of `events` on a line, then `{"end":{"count":…,"next":…,"head":…}}`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Page)]
pub struct StoredEventPage {
    /// In the order asked for.
    pub events: Vec<StoredEvent>,
    /// The start of the next page: the value of `after`, or of `until` when reading backward. Absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "100")]
    pub next: Option<String>,
    /// The durable head the page rests on.
    pub head: HeadReference,
}

/// An event as the ledger keeps it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredEvent {
    /// Its position in the ledger.
    #[schema(example = "17")]
    pub position: String,
    /// Its version in its stream.
    #[schema(example = "3")]
    pub stream_version: String,
    /// The time at which the ledger recorded it.
    #[schema(example = "2026-11-20T13:00:00.000000Z")]
    pub recorded_at: String,
    /// The commitment to its record, hexadecimal.
    pub commitment: String,
    /// `true` if the reactor added it. Absent means `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// `true` if its contents were erased with its data subject. Absent means `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// The position of `subject.erased`, which records that erasure. Absent where nothing records why the key is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased_by: Option<String>,
    /// The position of `retention.changed`, the retention policy under which all but id, source, type and subject was removed. Absent
    /// where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_by: Option<String>,
    /// `true` if its contents cannot be opened because the file of its data subject's key is damaged. Absent means `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
    /// Secrets that were replaced in it before it was appended. Absent means none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: u32,
    /// The CloudEvent; its `data` is as the client wrote it, byte for byte.
    #[schema(value_type = Object)]
    pub event: Box<RawValue>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The last line of an NDJSON answer; an answer without it was cut.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct EndLine {
    /// The sums of the lines before it.
    pub end: End,
}

/// The end of an NDJSON answer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct End {
    /// Events in the answer.
    pub count: u64,
    /// The start of the next answer, if the limit ended this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The durable head the answer rests on.
    pub head: HeadReference,
}
