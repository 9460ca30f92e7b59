//! `model.called`: one answer of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EventData, MicroUsd, Milliseconds, Name, TokenCounts};

/// `model.called`: a request to a model, and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCalled {
    /// The model.
    pub model: Name,
    /// The provider that runs it.
    pub provider: Name,
    /// The tokens that it read and wrote.
    pub tokens: TokenCounts,
    /// The cost of the tokens. Transcripts do not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// The duration of the answer. Transcripts do not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Milliseconds>,
    /// The way in which it ended.
    pub status: ModelStatus,
}

/// The way in which a call of a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelStatus {
    /// With an answer.
    Ok,
    /// With an error.
    Error,
    /// Its time was over.
    Timeout,
    /// It was broken off.
    Interrupted,
}

impl EventData for ModelCalled {
    const KIND: &'static str = "model.called";
    const VERSION: u32 = 1;
}
