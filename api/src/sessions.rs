//! Sessions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CallEndsAnswer, OutsideAnswer, SpendingAnswer};

/// Sessions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionList {
    /// Those that were named first last first.
    pub sessions: Vec<SessionAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The sessions outside the time span of the query. Present only if no session is inside it and none is behind this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideAnswer>,
}

/// One session: any id that events name as their session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAnswer {
    /// Its id.
    #[schema(example = "s1")]
    pub session: String,
    /// `ended` where it said so last, else `open`.
    #[schema(example = "ended")]
    pub state: String,
    /// The position of the first event that names it.
    #[schema(example = "918270")]
    pub position: String,
    /// The time of that event: the ledger's time; its own where an accepted import brought it.
    pub time: String,
    /// The time at which it was recorded.
    pub recorded: String,
    /// The position of its start; absent where it never told one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Its end; absent where it never told one, or went on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<SessionEndAnswer>,
    /// Its last event.
    pub last: String,
    /// The time of that event.
    pub last_time: String,
    /// The program that runs the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that it began with, else the first one that is named in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The working directory that it began in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The first agent that is named in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The actor that first wrote an event of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// `true` if it, or any part of it, was recorded elsewhere and imported.
    pub imported: bool,
    /// Its events, with ends of its calls and answers to its approvals that do not name it.
    #[schema(example = 212)]
    pub events: u64,
    /// Turns that began.
    #[schema(example = 9)]
    pub turns: u64,
    /// Runs that are named in it.
    #[schema(example = 1)]
    pub runs: u64,
    /// Calls of which half of the record is missing.
    #[schema(example = 0)]
    pub gaps: u64,
    /// Calls of tools.
    pub calls: SessionCallsAnswer,
    /// Approvals.
    pub approvals: SessionApprovalsAnswer,
    /// The amounts that models and tools took.
    pub spending: SpendingAnswer,
}

/// The end of a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEndAnswer {
    /// The position of the event that tells it.
    pub position: String,
    /// The time of that event.
    pub time: String,
    /// The reason, in the harness's word.
    #[schema(example = "exit")]
    pub reason: String,
    /// The sums that the harness tells, which are not the ones counted here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<SessionTotalsAnswer>,
}

/// The sums of a session, as a harness tells them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTotalsAnswer {
    /// Turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Calls of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Tokens that models read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens that they wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// The duration, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Calls of tools in a session: by their last decision, and by their end.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionCallsAnswer {
    /// All of them, each once however often it was asked for.
    #[schema(example = 40)]
    pub all: u64,
    /// Those that might run.
    pub allowed: u64,
    /// Those that wait, or waited in vain, for a person.
    pub reviewed: u64,
    /// Those that might not.
    pub denied: u64,
    /// The calls that ended.
    #[serde(flatten)]
    pub ends: CallEndsAnswer,
    /// Those that were denied, where that holds, and of which no end is told.
    pub stopped: u64,
    /// Those whose approval nobody gave in time, or which was taken back.
    pub lapsed: u64,
    /// Those that wait for a person.
    pub pending: u64,
    /// Those that may run, or do: without an end, as far as is recorded.
    pub open: u64,
}

/// Approvals that were asked for in a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionApprovalsAnswer {
    /// All of them.
    pub asked: u64,
    /// Those that were given, also for other arguments.
    pub given: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Those that nobody answered in time, or that were taken back.
    pub lapsed: u64,
    /// Those that wait.
    pub pending: u64,
}

/// One session, with its runs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionShown {
    /// The session.
    #[serde(flatten)]
    pub session: SessionAnswer,
    /// The newest hundred runs that are named in it, the newest first.
    #[serde(rename = "newestRuns")]
    pub newest_runs: Vec<SessionRunAnswer>,
}

/// A run that is named in a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SessionRunAnswer {
    /// Its id.
    #[schema(example = "r1")]
    pub run: String,
    /// The position of the first event of the session that names it.
    pub position: String,
}
