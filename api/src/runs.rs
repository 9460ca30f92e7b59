//! Runs and their steps.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Runs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// Those that began last first.
    pub runs: Vec<RunAnswer>,
    /// The `after` of the next page; absent at the end. A page may be short, or empty, and have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAnswer {
    /// Its id.
    #[schema(example = "r1")]
    pub run: String,
    /// `running`, `paused`, `completed`, `failed` or `aborted`.
    #[schema(example = "completed")]
    pub state: String,
    /// `true` where it has told no end for the time that the policy gives it.
    #[schema(example = false)]
    pub overdue: bool,
    /// The reason, as far as somebody told one: the reason, the kind of an error, or whether the end was the wanted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The position of the first event that names it.
    #[schema(example = "918270")]
    pub position: String,
    /// The time at which it began.
    pub time: String,
    /// The last event of it.
    pub last: String,
    /// The time of that event.
    pub last_time: String,
    /// The kind of run; `-` where its beginning is not recorded.
    #[schema(example = "graph")]
    pub kind: String,
    /// The graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
    /// The agent that runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The case it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The part of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtask: Option<String>,
    /// The node that it stands at, or ended at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Steps that were recorded: tries of nodes.
    #[schema(example = 7)]
    pub steps: u64,
    /// Those among them that ended with an error or took too long.
    #[schema(example = 0)]
    pub failed_steps: u64,
    /// Those among them that try a node again.
    #[schema(example = 0)]
    pub retries: u64,
    /// Calls of tools.
    #[schema(example = 12)]
    pub calls: u64,
    /// US dollars: as its end told, else what its steps told.
    #[schema(example = "0.31")]
    pub cost_usd: String,
    /// Tokens that models read for it, likewise.
    #[schema(example = "9000")]
    pub tokens_in: String,
    /// Tokens that they wrote, likewise.
    #[schema(example = "2600")]
    pub tokens_out: String,
    /// The duration, milliseconds, as its end told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Steps of a run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RunStepList {
    /// The newest first.
    pub steps: Vec<RunStepAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One try of one node.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStepAnswer {
    /// The position of the first event that names it.
    pub position: String,
    /// The time of that event.
    pub time: String,
    /// The node.
    #[schema(example = "act")]
    pub node: String,
    /// The kind of node.
    #[schema(example = "agent")]
    pub node_type: String,
    /// The number of the try, from 1.
    #[schema(example = 1)]
    pub attempt: u64,
    /// `started`, `ok`, `error`, `skipped` or `timeout`.
    #[schema(example = "ok")]
    pub status: String,
    /// The position of the event that tells its state.
    pub last: String,
    /// The round of the graph's loop that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// The action that the node took.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "edit_file")]
    pub action: Option<String>,
    /// The kind of error that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The input, as far as it was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<StepContentAnswer>,
    /// The output, as far as it was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<StepContentAnswer>,
    /// The model it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The duration, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// Tokens that a model read for it.
    pub tokens_in: u64,
    /// Tokens that it wrote.
    pub tokens_out: u64,
}

/// Contents that went into a step or came out of it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepContentAnswer {
    /// The SHA-256 digest, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The length in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The contents in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "14 bytes written")]
    pub summary: Option<String>,
}
