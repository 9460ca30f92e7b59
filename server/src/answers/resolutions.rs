//! Approvals that were answered, and by whom.

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
    /// Where it was answered.
    #[schema(example = "918275")]
    pub position: String,
    /// When.
    pub time: String,
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`.
    #[schema(example = "approved")]
    pub resolution: String,
    /// Who said it.
    pub by: String,
    /// In their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where it was asked for; this and what follows are absent where that is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// What a yes is for: `call` or `rollback`.
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
    /// How long it waited, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
}

/// Who has answered approvals.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AnswererList {
    /// In the order in which they answered first.
    pub answerers: Vec<AnswererAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What somebody has answered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswererAnswer {
    /// Who: the actor of their answers, or the service's scheduler.
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
    /// Where the first of these answers stands.
    pub first: String,
    /// And the last.
    pub last: String,
}
