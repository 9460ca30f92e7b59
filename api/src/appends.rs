//! Answers to appends.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::HeadReference;

/// The answer to an append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppendAnswer {
    /// The lowest position among the request's own events.
    #[schema(example = "17")]
    pub first: String,
    /// The highest position among the request's own events.
    #[schema(example = "18")]
    pub last: String,
    /// One for each event, in the request's order.
    pub results: Vec<AppendReceipt>,
    /// The events that the reactor added in the same atomic step.
    pub derived: Vec<DerivedReceipt>,
    /// A durable head that covers all of it.
    pub head: HeadReference,
}

/// The receipt of one event of an append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Receipt)]
pub struct AppendReceipt {
    /// The event's `id`.
    pub id: String,
    /// Its position in the ledger.
    #[schema(example = "17")]
    pub position: String,
    /// Its version in its stream.
    #[schema(example = "3")]
    pub stream_version: String,
    /// The commitment to its record, hexadecimal.
    pub commitment: String,
    /// The effect of this append on the event.
    pub status: ReceiptState,
}

/// The effect of an append on one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptState {
    /// The append added it.
    Created,
    /// An earlier append had added it; the receipt is the original one.
    Duplicate,
}

/// The receipt of an event that the reactor added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DerivedReceipt {
    /// Its `id`.
    pub id: String,
    /// Its `type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its stream (`subject`).
    pub stream: String,
    /// Its position in the ledger.
    pub position: String,
    /// Its version in its stream.
    pub stream_version: String,
    /// The commitment to its record, hexadecimal.
    pub commitment: String,
}
