//! Runs of graphs and tasks, and the steps in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ContentDigest, Count, EventData, FreeText, MicroUsd, Milliseconds, Name, OnExceed, SpendLimits,
    SummaryText, TokenCounts, Tokens,
};

/// `run.started`: a graph or a task began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// Its id.
    pub run: Name,
    /// The kind of run: `graph`, or the name of a set of tasks.
    pub kind: Name,
    /// The graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Name>,
    /// The agent that runs it, if it is not the event's own `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The case it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Name>,
    /// The part of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask: Option<Name>,
    /// The run's budget, and the consequence once it is spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RunBudget>,
    /// The run that began it, where an agent acts for another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Name>,
}

/// The budget of a run. An amount that is not named is not limited.
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
    /// The consequence once one of these is spent. Calls are denied if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exceed: Option<OnExceed>,
}

impl RunBudget {
    /// Returns the limits on the amounts that calls and answers of models report: money, tokens and time.
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
    /// The time at which it began: governed time, in microseconds since 1970.
    pub began: u64,
}

/// `run.step`: a node of a run began, or came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStep {
    /// The run.
    pub run: Name,
    /// The node.
    pub node: Name,
    /// The kind of node.
    pub node_type: Name,
    /// The status of the step.
    pub status: StepStatus,
    /// The number of the attempt, from 1.
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
    /// Digest and length of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<ContentDigest>,
    /// Digest and length of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ContentDigest>,
    /// The input, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_summary: Option<SummaryText>,
    /// The output, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryText>,
    /// The duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
    /// The model it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// The tokens that were read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// The cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
}

/// The status of a step.
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
    /// The thing that it waits for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FreeText>,
}

/// `run.resumed`: it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunResumed {
    /// The run.
    pub run: Name,
    /// The checkpoint it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Name>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FreeText>,
}

/// `run.completed`: it came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCompleted {
    /// The run.
    pub run: Name,
    /// The outcome: whether the run ended as wanted.
    pub status: RunOutcome,
    /// Steps it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Count>,
    /// The tokens that the whole run read and wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// The cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// The duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
}

/// The outcome of a run that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The run reached its goal.
    Success,
    /// The run did not reach its goal.
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
    pub reason: Option<FreeText>,
}

/// `run.aborted`: a person or program ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAborted {
    /// The run.
    pub run: Name,
    /// The person on whose behalf it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
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
