//! The audit table.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Calls of tools.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CallList {
    /// The newest first.
    pub calls: Vec<CallAnswer>,
    /// The `after` of the next page; absent at the end. A page may be short, or empty, and have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The calls outside the time span of the query. Present only if no call is inside it and none is behind this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideAnswer>,
}

/// The part of a list outside the time span of the query.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct OutsideAnswer {
    /// The number of those that match all else of the query.
    #[schema(example = 412)]
    pub count: u64,
    /// `true`: 20,000 were looked at, and there may be more.
    pub more: bool,
}

/// One call of a tool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallAnswer {
    /// The position of the first request for it; of its outcome where only that is recorded.
    #[schema(example = "918274")]
    pub position: String,
    /// The time of that event: the ledger's time; its own where an accepted import brought it.
    pub time: String,
    /// The time at which it was recorded.
    pub recorded: String,
    /// Its id.
    #[schema(example = "c1")]
    pub call: String,
    /// The position of the call before it that had this id; `…/calls?call=` lists all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
    /// The tool; `-` where only the call's end is recorded.
    #[schema(example = "fs.write")]
    pub tool: String,
    /// The server that the tool belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The model that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The kind of task.
    #[serde(rename = "task_type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The actor that wrote the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The number of requests for it before it ended.
    #[schema(example = 1)]
    pub asked: u32,
    /// `true` if it was recorded elsewhere and imported.
    pub imported: bool,
    /// The last decision about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecisionAnswer>,
    /// The approval that it waited for last, and what became of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<CallApprovalAnswer>,
    /// Its state in one word: the status of its outcome, or one of the following. `open`: it may run, or does. `pending`: a person is asked.
    /// `denied`: where that holds. `rejected`: by a person. `expired`: nobody answered. `withdrawn`: the request was taken back.
    #[schema(example = "ok")]
    pub state: String,
    /// Its outcome; absent while none is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcomeAnswer>,
    /// `true` if its outcome was told only after it was given up.
    pub late: bool,
}

/// The decision about a call.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallDecisionAnswer {
    /// The position of the decision.
    pub position: String,
    /// `allow`, `review` or `deny`.
    #[schema(example = "review")]
    pub verdict: String,
    /// `observe` or `enforce`.
    pub mode: String,
    /// The reason, in one word.
    #[schema(example = "trust-require-review")]
    pub reason_code: String,
    /// The reason, in words.
    pub reason: String,
    /// The rule of the policy that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The policy's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// The context that trust was looked up in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// An approval that a call waited for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallApprovalAnswer {
    /// Its id.
    pub id: String,
    /// The position of the request for it.
    pub position: String,
    /// The time of that request.
    pub time: String,
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`; absent while nobody has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// The actor of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The position of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_position: Option<String>,
    /// The time until the answer, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
}

/// The outcome of a call.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallOutcomeAnswer {
    /// The position of the outcome.
    pub position: String,
    /// The time of the outcome.
    pub time: String,
    /// `ok`, `error`, `timeout`, `interrupted`, `rejected` or another word of the outcome's type.
    #[schema(example = "ok")]
    pub status: String,
    /// The kind of error, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The exit code of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The duration, milliseconds, as the caller told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// A summary of its input, in words, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_summary: Option<String>,
    /// A summary of its output, in words, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The artifacts that it made or changed, as its outcome tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<CallArtifactAnswer>,
}

/// Something that a call made or changed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CallArtifactAnswer {
    /// Its name: mostly its path.
    #[schema(example = "src/a.rs")]
    pub path: String,
    /// The kind of artifact.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Calls that ended, counted by the status of their outcomes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct CallEndsAnswer {
    /// Those that went well.
    #[schema(example = 170)]
    pub ok: u64,
    /// Those that failed.
    #[schema(example = 4)]
    pub error: u64,
    /// Those that took too long.
    #[schema(example = 1)]
    pub timeout: u64,
    /// Those that were broken off.
    #[schema(example = 0)]
    pub interrupted: u64,
    /// Those that a person kept from being made.
    #[schema(example = 3)]
    pub rejected: u64,
    /// Those that a rule or a program kept from being made, as their ends say.
    #[schema(example = 2)]
    pub blocked: u64,
}
