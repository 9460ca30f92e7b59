//! Imports of records from elsewhere, and the changes that accepting one would make.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::trust::{DimensionAnswer, TrustAnswer};

/// Imports that ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ImportList {
    /// The last first.
    pub imports: Vec<ImportListed>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An import.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ImportListed {
    /// The digest that names it.
    pub digest: String,
    /// The position of its `import.batch`.
    pub position: String,
    /// The position of its `import.accepted`, if it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
    /// Dimensions that it has outcomes of. This and the three that follow are absent of one that counts where no read model tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u64>,
    /// Those of the outcomes that were good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<u64>,
    /// Those that a person rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejections: Option<u64>,
    /// Those that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
}

/// The changes that an import would make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportAnswer {
    /// The ledger's time that scores are of.
    pub evaluated_at: String,
    /// The import.
    #[serde(flatten)]
    pub import: ImportListed,
    /// The number of its dimensions by standing now.
    pub now: StandingsAnswer,
    /// The same numbers once it counts.
    pub once_accepted: StandingsAnswer,
    /// Dimension by dimension, those with the most outcomes first; none once it counts.
    pub changes: Vec<ImportedAnswer>,
    /// The `after` of the next page of changes; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An import that counts from here on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ImportAcceptedAnswer {
    /// The position of its `import.accepted`.
    pub position: String,
    /// The digest that names it.
    pub digest: String,
}

/// The number of dimensions in each standing.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedAnswer {
    /// The dimension.
    pub dimension: DimensionAnswer,
    /// The counts of the import.
    pub imported: ImportCountsAnswer,
    /// The trust in it now.
    pub now: TrustAnswer,
    /// The trust in it once the import counts.
    pub once_accepted: TrustAnswer,
}

/// The counts of one dimension in an import.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportCountsAnswer {
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// The time at which the last of these calls ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
}
