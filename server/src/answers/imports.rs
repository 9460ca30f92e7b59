//! What was recorded elsewhere, and what it would change.

use serde::Deserialize;
use utoipa::ToSchema;

use super::trust::{DimensionAnswer, TrustAnswer};

/// Imports that ended.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ImportList {
    /// The last first.
    pub imports: Vec<ImportListed>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<String>,
}

/// An import.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ImportListed {
    /// What it is named by.
    pub digest: String,
    /// Where its `import.batch` stands.
    pub position: String,
    /// Where its `import.accepted` stands, if it counts.
    pub accepted: Option<String>,
    /// Dimensions that it has outcomes of. This and the three that follow are absent of one that counts where no read model tells them.
    pub dimensions: Option<u64>,
    /// Those of the outcomes that were good.
    pub approvals: Option<u64>,
    /// Those that a person rejected.
    pub rejections: Option<u64>,
    /// Those that failed.
    pub failures: Option<u64>,
}

/// What an import would change.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportAnswer {
    /// The ledger's time that scores are of.
    pub evaluated_at: String,
    /// Which import.
    #[serde(flatten)]
    pub import: ImportListed,
    /// How its dimensions stand.
    pub now: StandingsAnswer,
    /// How they would, once it counts.
    pub once_accepted: StandingsAnswer,
    /// Dimension by dimension, those with the most outcomes first; none once it counts.
    pub changes: Vec<ImportedAnswer>,
    /// The `after` of the next page of changes; absent at the end.
    pub next: Option<String>,
}

/// How many dimensions stand how.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StandingsAnswer {
    /// Their calls are allowed, where a rule says so.
    pub auto_approve: u64,
    /// A person looks at them.
    pub require_review: u64,
    /// They are denied.
    pub blocked: u64,
}

/// A dimension of an import.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedAnswer {
    /// Which.
    pub dimension: DimensionAnswer,
    /// What the import showed.
    pub imported: ImportCountsAnswer,
    /// What is known of it here.
    pub now: TrustAnswer,
    /// What would be, once the import counts.
    pub once_accepted: TrustAnswer,
}

/// What an import showed of a dimension.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportCountsAnswer {
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// When the last of them ended.
    pub last_updated: Option<String>,
}
