//! The recorded history of the trust in one dimension.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Outcomes of one dimension.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TrustHistory {
    /// The newest first.
    pub outcomes: Vec<OutcomeRecord>,
    /// The `until` of the next page; absent where nothing older is left. A page may be short, or empty, and have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An outcome, or an operator's word.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct OutcomeRecord {
    /// The position of its event.
    pub position: String,
    /// The time at which it happened; of one recorded elsewhere, its time there.
    pub time: String,
    /// The ledger's time.
    pub recorded: String,
    /// `trust.observed` or `trust.set`.
    pub r#type: String,
    /// The actor that wrote it, where a reactor did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The digest of the import that brought it. Absent from an outcome observed here, and while its import has not come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// `true` if an outcome that was recorded elsewhere counts: its import was accepted. Absent from an outcome observed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<bool>,
    /// Its data, as it is recorded.
    #[schema(value_type = Object)]
    pub data: Box<RawValue>,
}
