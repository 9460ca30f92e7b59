//! Sessions of an agent with its harness, and the turns in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Count, EventData, MicroUsd, Milliseconds, Name, PathText, Sha256Text, TokenCounts};

/// `session.started`: an agent began to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStarted {
    /// The program that runs the agent.
    pub harness: Name,
    /// Its version, where it says. Recordings of older ones do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Name>,
    /// The model it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathText>,
}

/// `session.ended`: it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEnded {
    /// The reason, in the harness's word.
    pub reason: Name,
    /// The totals of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<SessionTotals>,
}

/// The totals of a session or a run, as far as they were counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTotals {
    /// Turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Count>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Count>,
    /// Events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Count>,
    /// Tokens of all models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// The cost of the tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// The duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
}

/// `turn.started`: the agent was prompted. The prompt itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    /// The prompt.
    pub prompt: PromptDigest,
    /// The source of the prompt.
    pub source: PromptSource,
}

/// The digest and length of a prompt, whose text is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDigest {
    /// SHA-256 of its text.
    pub sha256: Sha256Text,
    /// Bytes of it.
    pub bytes: Count,
}

/// The source of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    /// A person.
    User,
    /// Another agent.
    Agent,
    /// A plan by the clock.
    Schedule,
    /// The harness, or another program.
    System,
}

/// `turn.ended`: the agent came to an end of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnded {
    /// The reason, in the harness's or model's word: `end_turn`, `interrupted`, `max_tokens`.
    pub stop_reason: Name,
    /// The duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
}

impl EventData for SessionStarted {
    const KIND: &'static str = "session.started";
    const VERSION: u32 = 1;
}

impl EventData for SessionEnded {
    const KIND: &'static str = "session.ended";
    const VERSION: u32 = 1;
}

impl EventData for TurnStarted {
    const KIND: &'static str = "turn.started";
    const VERSION: u32 = 1;
}

impl EventData for TurnEnded {
    const KIND: &'static str = "turn.ended";
    const VERSION: u32 = 1;
}
