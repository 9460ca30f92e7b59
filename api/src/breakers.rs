//! Dimensions that fail.

use serde::{Deserialize, Serialize};
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
    /// The dimension that it guards.
    pub dimension: DimensionAnswer,
    /// `closed`, `open` or `half_open`.
    pub state: String,
    /// Outcomes in its window.
    pub outcomes: u32,
    /// Bad ones among them.
    pub bad: u32,
    /// The time from which a request may be a probe, where it is open.
    pub cooldown_until: Option<String>,
    /// Good probes so far, where it is half-open.
    pub good_probes: Option<u32>,
    /// Its settings, in the words that set it.
    pub settings: BreakerSettingsAnswer,
}

/// The settings of a breaker.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSettingsAnswer {
    /// The number of outcomes that it looks back on.
    pub window: u32,
    /// The number of bad ones among them at which it opens.
    pub failure_threshold: u32,
    /// The number of good probes after which it closes.
    pub recovery_probes: u32,
    /// The time that it stays open before a request may be a probe, in seconds.
    pub cooldown_s: u32,
}

/// The state of the circuit breaker of one dimension.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerStateAnswer {
    /// `closed`, `open` or `half_open`.
    pub state: String,
    /// Outcomes in its window; absent of a record as it stood earlier, as are the numbers below.
    pub outcomes: Option<u32>,
    /// Bad ones among them.
    pub bad: Option<u32>,
    /// The time from which a request may be a probe, where it is open.
    pub cooldown_until: Option<String>,
    /// Good probes so far, where it is half-open.
    pub good_probes: Option<u32>,
    /// Its settings, in the words that set it.
    pub settings: Option<BreakerSettingsAnswer>,
}

/// The body that sets a breaker.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakerSettingsRequest {
    /// The dimension that it guards.
    pub dimension: DimensionAnswer,
    /// The number of outcomes that it looks back on.
    #[schema(example = 20)]
    pub window: u32,
    /// With this many bad ones among them it opens.
    #[schema(example = 5)]
    pub failure_threshold: u32,
    /// After this many good probes it closes.
    #[schema(example = 3)]
    pub recovery_probes: u32,
    /// The time that it stays open before a request may be a probe, in seconds.
    #[schema(example = 300)]
    pub cooldown_s: u32,
}

/// The body that closes a breaker.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BreakerCloseRequest {
    /// The dimension.
    pub dimension: DimensionAnswer,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
