//! What was noticed of a history: calls that go round in a circle, and calls that half of the record is missing of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, Count, EventData, Name, Sha256Text, Words};

/// `loop.detected`: the same call again and again, or too many steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopDetected {
    /// The call at which it was noticed.
    pub call: Name,
    /// What goes round.
    pub kind: LoopKind,
    /// The tool.
    pub tool: Name,
    /// The digest of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Sha256Text>,
    /// How often, one after another.
    pub count: Count,
    /// Calls of a cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Count>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<BoundedText<1024>>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<BoundedText<1024>>,
}

/// What goes round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The same tool with the same arguments.
    IdenticalCalls,
    /// The same few calls in the same order.
    RepeatedCycle,
    /// Calls that wait for something, and nothing else.
    PollCalls,
    /// More steps than a run may take.
    IterationCap,
}

/// `coverage.gap`: a call was seen elsewhere, and half of its record is missing here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoverageGap {
    /// The call.
    pub call: Name,
    /// Where it was seen, and what of it.
    pub evidence: Words,
    /// What is missing.
    pub missing: MissingHalf,
}

/// Which half of a call's record is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingHalf {
    /// It was never asked about.
    Decision,
    /// Nobody told how it ended.
    Outcome,
}

impl EventData for LoopDetected {
    const KIND: &'static str = "loop.detected";
    const VERSION: u32 = 1;
}

impl EventData for CoverageGap {
    const KIND: &'static str = "coverage.gap";
    const VERSION: u32 = 1;
}
