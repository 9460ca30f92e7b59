//! The trust in dimensions.

use super::breakers::BreakerStateAnswer;
use bitacora_vocabulary::Dimension;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The dimension that trust is kept for; `-` where a part is not known.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DimensionAnswer {
    /// The tool.
    pub tool: String,
    /// The context of the calls.
    pub context: String,
    /// The model.
    pub model: String,
    /// The kind of task.
    pub task_type: String,
    /// The workspace, `-` for calls that named none; absent from the trust that is kept for all workspaces together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl From<&Dimension> for DimensionAnswer {
    fn from(dimension: &Dimension) -> Self {
        let [tool, context, model, task_type] = dimension.parts().map(str::to_owned);
        let workspace = dimension.workspace().map(str::to_owned);
        Self { tool, context, model, task_type, workspace }
    }
}

/// The record of a dimension, its score and its standing.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustAnswer {
    /// From 0 to 1.
    #[schema(example = "0.7892")]
    pub score: String,
    /// The threshold of the score: for review where a low score blocks, else for calls without review.
    #[schema(example = "0.9")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<String>,
    /// `auto_approve`, `require_review` or `blocked`.
    pub standing: String,
    /// The reason for the standing.
    pub standing_reason: String,
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Failures among the last outcomes.
    pub recent_failures: u64,
    /// Calls that went well since the last that did not.
    pub streak: u64,
    /// The time at which it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
}

/// Dimensions by score.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustList {
    /// The ledger's time that scores are of.
    pub evaluated_at: String,
    /// Those that were asked for.
    pub dimensions: Vec<TrustDimension>,
    /// The `after` of the next page; absent at the end. Scores may change between two pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A dimension, and what it has shown.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustDimension {
    /// The dimension.
    pub dimension: DimensionAnswer,
    /// The trust in it.
    #[serde(flatten)]
    pub trust: TrustAnswer,
    /// The approvals that no person gave.
    pub auto_approvals: u64,
}

/// One dimension.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustRecordAnswer {
    /// The ledger's time that the score is of.
    pub evaluated_at: String,
    /// The dimension, with the trust in it.
    #[serde(flatten)]
    pub record: TrustDimension,
    /// Its circuit breaker.
    pub breaker: BreakerStateAnswer,
}

/// The sum of many dimensions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustSumAnswer {
    /// The ledger's time that it is of.
    pub evaluated_at: String,
    /// The dimensions of the query; `*` stands for every value of a part.
    pub dimension: DimensionAnswer,
    /// The number of dimensions that are summed.
    pub dimensions: u64,
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// The approvals that no person gave.
    pub auto_approvals: u64,
    /// The time at which one of them last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// Those of them whose breaker does not let every call pass.
    pub breakers_not_closed: u64,
}

/// One dimension, or the sum of many where a part is `*`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum TrustRecordOrSum {
    /// One dimension.
    Record(Box<TrustRecordAnswer>),
    /// The sum of many.
    Sum(Box<TrustSumAnswer>),
}

/// The body that puts counts in the place of a dimension's own.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TrustSetRequest {
    /// The dimension.
    pub dimension: DimensionAnswer,
    /// The counts from now on.
    pub counts: TrustCountsRequest,
    /// The reason.
    pub reason: String,
}

/// The counts that trust is computed from.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TrustCountsRequest {
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Calls that went well since the last that did not.
    pub streak: u64,
}

/// The body that has a blocked dimension reviewed for a while.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TrustProbeRequest {
    /// The dimension.
    pub dimension: DimensionAnswer,
    /// The time until which it is reviewed, RFC 3339; at most seven days away.
    pub expires: String,
    /// The reason.
    pub reason: String,
}
