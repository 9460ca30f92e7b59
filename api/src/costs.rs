//! Costs of models and tools.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Costs, summed up.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CostList {
    /// The sums, in the order of their groups.
    pub costs: Vec<CostAnswer>,
    /// All together.
    pub total: SpendingAnswer,
    /// The number of answers and calls that count on other days. Present only if nothing was spent on the days of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<u64>,
}

/// One sum.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CostAnswer {
    /// The model, where it was asked for by model; `-` where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The task type, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The agent, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The role of the caller, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The run, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The session, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The case that the run is about, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The day, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-22")]
    pub day: Option<String>,
    /// The amounts.
    #[serde(flatten)]
    pub spending: SpendingAnswer,
}

/// Amounts spent, and the number of calls behind them. Sums are decimal texts: they may be past what a number in JSON holds.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpendingAnswer {
    /// Answers of models.
    #[schema(example = 12)]
    pub model_calls: u64,
    /// Calls of tools that told what they took.
    #[schema(example = 40)]
    pub tool_calls: u64,
    /// Those of both that did not tell what they cost; the sum is without them.
    #[schema(example = 0)]
    pub without_cost: u64,
    /// US dollars.
    #[schema(example = "0.0315")]
    pub cost_usd: String,
    /// Tokens that models read.
    #[schema(example = "900")]
    pub tokens_in: String,
    /// Tokens that they wrote.
    #[schema(example = "260")]
    pub tokens_out: String,
    /// Tokens that they read from a cache.
    #[schema(example = "41000")]
    pub cache_read: String,
    /// Tokens that they wrote to one.
    #[schema(example = "0")]
    pub cache_write: String,
    /// Tokens of those answers of models that did not tell what they cost: what a list of prices can be held against. Absent where
    /// there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpriced_tokens: Option<TokensAnswer>,
    /// The duration of all of it, milliseconds, as far as that was told.
    #[schema(example = "1400")]
    pub duration_ms: String,
    /// The first position that counts in it; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// Tokens of answers of models, as decimal texts.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokensAnswer {
    /// Those that models read.
    #[schema(example = "900")]
    pub tokens_in: String,
    /// Those that they wrote.
    #[schema(example = "260")]
    pub tokens_out: String,
    /// Those that they read from a cache.
    #[schema(example = "41000")]
    pub cache_read: String,
    /// Those that they wrote to one.
    #[schema(example = "0")]
    pub cache_write: String,
}
