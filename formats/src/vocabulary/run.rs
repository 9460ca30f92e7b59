//! Runs of graphs and tasks, and the steps in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ContentDigest, Count, EventData, MicroUsd, Milliseconds, Name, OnExceed, SpendLimits, SummaryText,
    TokenCounts, Tokens, Words,
};

/// `run.started`: a graph or a task began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// Its id.
    pub run: Name,
    /// What kind of run: `graph`, or the name of a set of tasks.
    pub kind: Name,
    /// The graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Name>,
    /// Who runs it, where it is not the event's own `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The case it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Name>,
    /// The part of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask: Option<Name>,
    /// What it may spend, and what follows once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RunBudget>,
    /// The run that began it, where an agent acts for another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
}

/// What a run may spend. What is not named is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunBudget {
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// Tokens of models, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Count>,
    /// Steps that came to their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Count>,
    /// Time that calls and answers of models took, one after the other or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
    /// Time since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<Milliseconds>,
    /// What follows once one of these is spent. Calls are denied where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exceed: Option<OnExceed>,
}

impl RunBudget {
    /// Returns the limits on what calls and answers of models tell: money, tokens and time.
    #[must_use]
    pub fn spend_limits(&self) -> SpendLimits {
        let Self { cost_micro_usd, tokens, duration_ms, .. } = *self;
        SpendLimits { cost_micro_usd, tokens, duration_ms, ..SpendLimits::default() }
    }
}

/// `run.overdue`: a run has told no end for the time that the policy gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunOverdue {
    /// The run.
    pub run: Name,
    /// When it began: governed time, in microseconds since 1970.
    pub began: u64,
}

/// `run.step`: a node of a run began, or came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStep {
    /// The run.
    pub run: Name,
    /// The node.
    pub node: Name,
    /// What kind of node.
    pub node_type: Name,
    /// How it stands.
    pub status: StepStatus,
    /// Which try it is, from 1.
    pub attempt: Count,
    /// The round of the graph's loop that it belongs to, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<Count>,
    /// The action that the node took, in the graph's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Name>,
    /// The kind of error that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<Name>,
    /// Digest and length of what went in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<ContentDigest>,
    /// Digest and length of what came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ContentDigest>,
    /// What went in, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_summary: Option<SummaryText>,
    /// What came out, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryText>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
    /// The model it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// What that read and wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
}

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It began.
    Started,
    /// It is done.
    Ok,
    /// It failed.
    Error,
    /// It was not run.
    Skipped,
    /// Its time was over.
    Timeout,
}

/// `run.paused`: a run waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunPaused {
    /// The run.
    pub run: Name,
    /// The node it stands at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Name>,
    /// For what it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Words>,
}

/// `run.resumed`: it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunResumed {
    /// The run.
    pub run: Name,
    /// The checkpoint it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Name>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Words>,
}

/// `run.completed`: it came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCompleted {
    /// The run.
    pub run: Name,
    /// Whether the end was the wanted one.
    pub status: RunOutcome,
    /// Steps it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Count>,
    /// What all of it read and wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
}

/// Whether a run that came to its end reached what it was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It did.
    Success,
    /// It did not.
    Failure,
}

/// `run.failed`: an error ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFailed {
    /// The run.
    pub run: Name,
    /// The node at which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Name>,
    /// The kind of error.
    pub error_type: Name,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Words>,
}

/// `run.aborted`: somebody ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAborted {
    /// The run.
    pub run: Name,
    /// On whose behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// Why.
    pub reason: Words,
}

impl EventData for RunStarted {
    const KIND: &'static str = "run.started";
    const VERSION: u32 = 1;
}

impl EventData for RunStep {
    const KIND: &'static str = "run.step";
    const VERSION: u32 = 1;
}

impl EventData for RunPaused {
    const KIND: &'static str = "run.paused";
    const VERSION: u32 = 1;
}

impl EventData for RunResumed {
    const KIND: &'static str = "run.resumed";
    const VERSION: u32 = 1;
}

impl EventData for RunCompleted {
    const KIND: &'static str = "run.completed";
    const VERSION: u32 = 1;
}

impl EventData for RunFailed {
    const KIND: &'static str = "run.failed";
    const VERSION: u32 = 1;
}

impl EventData for RunOverdue {
    const KIND: &'static str = "run.overdue";
    const VERSION: u32 = 1;
}

impl EventData for RunAborted {
    const KIND: &'static str = "run.aborted";
    const VERSION: u32 = 1;
}
