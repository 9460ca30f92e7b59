//! Approvals that were answered, and their answerers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Answered approvals.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AnsweredList {
    /// The newest first.
    pub resolutions: Vec<AnsweredAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An approval that was answered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredAnswer {
    /// Its id.
    pub approval: String,
    /// The position of the answer.
    #[schema(example = "918275")]
    pub position: String,
    /// The time of the answer.
    pub time: String,
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`.
    #[schema(example = "approved")]
    pub resolution: String,
    /// The actor of the answer.
    pub by: String,
    /// In their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The position of the request for it; this and the members after it are absent where that is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// The act that an approval permits: `call` or `rollback`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The call that asked first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The agent of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The time that it waited, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
}

/// The answerers of approvals.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AnswererList {
    /// In the order in which they answered first.
    pub answerers: Vec<AnswererAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The answers of one answerer, counted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswererAnswer {
    /// The actor of these answers, or the service's scheduler.
    pub by: String,
    /// Calls they let run.
    #[schema(example = 12)]
    pub approved: u64,
    /// Calls they did not.
    pub rejected: u64,
    /// Calls they let run with other arguments.
    pub edited: u64,
    /// Questions they took back.
    pub withdrawn: u64,
    /// Questions that nobody answered in time.
    pub expired: u64,
    /// Within how many seconds half of them were answered: a power of two, or the longest wait where that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 64)]
    pub half_within_s: Option<u64>,
    /// The longest that one waited, milliseconds.
    pub longest_ms: u64,
    /// The position of the first of these answers.
    pub first: String,
    /// And the last.
    pub last: String,
}
