//! What was recorded of the trust of one dimension.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Outcomes of one dimension.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct TrustHistory {
    /// The newest first.
    pub outcomes: Vec<OutcomeRecord>,
    /// The `until` of the next page; absent where nothing older is left. A page may be short, or empty, and have one.
    pub next: Option<String>,
}

/// An outcome, or an operator's word.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct OutcomeRecord {
    /// Where it stands.
    pub position: String,
    /// The ledger's time.
    pub time: String,
    /// `trust.observed` or `trust.set`.
    pub r#type: String,
    /// Who wrote it, where a reactor did not.
    pub actor: Option<String>,
    /// Its data, as it is recorded.
    #[schema(value_type = Object)]
    pub data: Value,
}
