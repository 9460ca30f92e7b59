//! Dimensions that fail.

use serde::Deserialize;
use utoipa::ToSchema;

use super::trust::DimensionAnswer;

/// Circuit breakers.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct BreakerList {
    /// By dimension.
    pub breakers: Vec<BreakerAnswer>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<String>,
}

/// A circuit breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerAnswer {
    /// Whose.
    pub dimension: DimensionAnswer,
    /// `closed`, `open` or `half_open`.
    pub state: String,
    /// Outcomes in its window.
    pub outcomes: u32,
    /// Bad ones among them.
    pub bad: u32,
    /// From when on a request may be a probe, where it is open.
    pub cooldown_until: Option<String>,
    /// Good probes so far, where it is half-open.
    pub good_probes: Option<u32>,
    /// How it is set, in the words that set it.
    pub settings: BreakerSettingsAnswer,
}

/// How a breaker is set.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSettingsAnswer {
    /// How many outcomes it looks back on.
    pub window: u32,
    /// With this many bad ones among them it opens.
    pub failure_threshold: u32,
    /// After this many good probes it closes.
    pub recovery_probes: u32,
    /// How long it stays open before a request may be a probe, in seconds.
    pub cooldown_s: u32,
}

/// How the circuit breaker of one dimension stands.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerStateAnswer {
    /// `closed`, `open` or `half_open`.
    pub state: String,
    /// Outcomes in its window; absent of a record as it stood earlier, as are the numbers below.
    pub outcomes: Option<u32>,
    /// Bad ones among them.
    pub bad: Option<u32>,
    /// From when on a request may be a probe, where it is open.
    pub cooldown_until: Option<String>,
    /// Good probes so far, where it is half-open.
    pub good_probes: Option<u32>,
    /// How it is set, in the words that set it.
    pub settings: Option<BreakerSettingsAnswer>,
}

/// The body that sets a breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSettingsRequest {
    /// Whose.
    pub dimension: DimensionAnswer,
    /// How many outcomes it looks back on.
    #[schema(example = 20)]
    pub window: u32,
    /// With this many bad ones among them it opens.
    #[schema(example = 5)]
    pub failure_threshold: u32,
    /// After this many good probes it closes.
    #[schema(example = 3)]
    pub recovery_probes: u32,
    /// How long it stays open before a request may be a probe, in seconds.
    #[schema(example = 300)]
    pub cooldown_s: u32,
}

/// The body that closes a breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct BreakerCloseRequest {
    /// Whose.
    pub dimension: DimensionAnswer,
    /// Why.
    pub reason: Option<String>,
}
