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
    /// When it happened; of what was recorded elsewhere, when it did there.
    pub time: String,
    /// The ledger's time.
    pub recorded: String,
    /// `trust.observed` or `trust.set`.
    pub r#type: String,
    /// Who wrote it, where a reactor did not.
    pub actor: Option<String>,
    /// The digest of the import that brought it; absent of what was observed here, and while its import has not come to its end.
    pub import: Option<String>,
    /// Whether what was recorded elsewhere counts: once somebody has accepted its import. Absent of what was observed here.
    pub counts: Option<bool>,
    /// Its data, as it is recorded.
    #[schema(value_type = Object)]
    pub data: Value,
}
