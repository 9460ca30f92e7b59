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
    /// Where no call is in the time that was asked about, and none behind this page: those outside of it. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideAnswer>,
}

/// What of a list lies outside of the time that was asked about.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct OutsideAnswer {
    /// So many agree with all else that was asked.
    #[schema(example = 412)]
    pub count: u64,
    /// `true`: 20,000 were looked at, and there may be more.
    pub more: bool,
}

/// One call of a tool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallAnswer {
    /// Where it was asked for, the first time; where only its end is recorded, that.
    #[schema(example = "918274")]
    pub position: String,
    /// When that happened: the ledger's time; its own where an accepted import brought it.
    pub time: String,
    /// When it was recorded.
    pub recorded: String,
    /// Its id.
    #[schema(example = "c1")]
    pub call: String,
    /// Where the call before it stands that had this id; `…/calls?call=` lists all of them.
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
    /// What it worked on.
    #[serde(rename = "task_type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// Who wrote the request.
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
    /// How often it was asked for before it ended.
    #[schema(example = 1)]
    pub asked: u32,
    /// Whether it was recorded elsewhere and brought here.
    pub imported: bool,
    /// What was said of it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecisionAnswer>,
    /// The approval that it waited for last, and what became of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<CallApprovalAnswer>,
    /// What came of it, in one word: how it ended, else `open` where it may run or does, `waiting` for a person, `denied` where that
    /// holds, `rejected` by a person, `expired` where nobody answered, or `withdrawn`.
    #[schema(example = "ok")]
    pub state: String,
    /// How it ended; absent while no end is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcomeAnswer>,
    /// Whether its end was told only after it was given up.
    pub late: bool,
}

/// What was said of a call.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallDecisionAnswer {
    /// Where.
    pub position: String,
    /// `allow`, `review` or `deny`.
    #[schema(example = "review")]
    pub verdict: String,
    /// `observe` or `enforce`.
    pub mode: String,
    /// Why, in one word.
    #[schema(example = "trust-require-review")]
    pub reason_code: String,
    /// Why, in words.
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
    /// Where it was asked for.
    pub position: String,
    /// When.
    pub time: String,
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`; absent while nobody has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// Who said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_position: Option<String>,
    /// How long that took, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
}

/// How a call ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallOutcomeAnswer {
    /// Where.
    pub position: String,
    /// When.
    pub time: String,
    /// `ok`, `error`, `timeout`, `interrupted`, `rejected` or another word of the outcome's type.
    #[schema(example = "ok")]
    pub status: String,
    /// What went wrong, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// What its program ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long it took, milliseconds, as who made it told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// What went in, in words, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_summary: Option<String>,
    /// What came out, in words, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it made or changed, as its end tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<CallArtifactAnswer>,
}

/// Something that a call made or changed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CallArtifactAnswer {
    /// What it is called: mostly its path.
    #[schema(example = "src/a.rs")]
    pub path: String,
    /// What kind of thing it is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
