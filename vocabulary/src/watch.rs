//! Anomalies in a history: calls in a loop, and calls of whose record half is missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, Count, EventData, FreeText, Name, Sha256Text};

/// `loop.detected`: the same call again and again, or too many steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopDetected {
    /// The call at which it was noticed.
    pub call: Name,
    /// The kind of loop.
    pub kind: LoopKind,
    /// The tool.
    pub tool: Name,
    /// The digest of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Sha256Text>,
    /// The number of repetitions, one after another.
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

/// The kind of a loop.
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
    /// The source and content of the evidence.
    pub evidence: FreeText,
    /// The missing half.
    pub missing: MissingHalf,
}

/// The missing half of a call's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingHalf {
    /// The decision: the call was never asked about.
    Decision,
    /// The outcome: the call's end was never reported.
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
