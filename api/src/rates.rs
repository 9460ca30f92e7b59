//! Rate limits for calls.

use std::fmt;

use bitacora_vocabulary::{RateBy, RateLimit, RateScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Rate limits, and the buckets that are not full.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateList {
    /// The ledger's time that the buckets are of.
    pub evaluated_at: String,
    /// The limits that are configured, by scope.
    pub limits: Vec<RateRequest>,
    /// The limits that are configured for the last while, for days and for the time between two calls, by scope.
    pub rolling: Vec<RollingRateAnswer>,
    /// The buckets of which a call has taken something that has not come back, by scope. All others are full.
    pub buckets: Vec<RateBucketAnswer>,
    /// The `after` of the next page; absent at the end. Buckets come behind all limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A limit, in an answer and as the body that sets it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RateRequest {
    /// The calls that are counted together.
    pub scope: RateScopeAnswer,
    /// The token bucket; without it the limit is taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<RateLimitAnswer>,
    /// Limits for the last while (`windows`: `calls`, `period_s`), for a day (`day`: `calls`, `zone`), and for the time between two calls
    /// (`apart_s`). Without it none of these is limited.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling: Option<Value>,
}

/// The limits of a scope for the last while, for a day, and for the time between two calls.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RollingRateAnswer {
    /// The calls that are counted together.
    pub scope: RateScopeAnswer,
    /// As `rate.configured` records it.
    #[schema(value_type = Object)]
    pub rolling: Box<RawValue>,
}

/// The calls that are counted together.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RateScopeAnswer {
    /// `tool`, `agent` or `role`.
    #[schema(example = "agent")]
    pub by: String,
    /// The one that is meant. Without it: each by itself that has no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl From<&RateScope> for RateScopeAnswer {
    fn from(scope: &RateScope) -> Self {
        let by = match scope.by {
            RateBy::Tool => "tool",
            RateBy::Agent => "agent",
            RateBy::Role => "role",
        };
        Self { by: by.to_owned(), name: scope.name.as_ref().map(ToString::to_string) }
    }
}

/// The calls in words: `agent ci`, `each tool`.
impl fmt::Display for RateScopeAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(out, "{} {name}", self.by),
            None => write!(out, "each {}", self.by),
        }
    }
}

/// A bucket of tokens, of which each call takes one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RateLimitAnswer {
    /// Tokens that it holds at most, and at first.
    #[schema(example = 10)]
    pub burst: u32,
    /// Tokens that come back in a period.
    #[schema(example = 1)]
    pub refill: u32,
    /// The period.
    #[schema(example = 1000)]
    pub period_ms: u64,
}

impl From<&RateLimit> for RateLimitAnswer {
    fn from(limit: &RateLimit) -> Self {
        Self { burst: limit.burst, refill: limit.refill, period_ms: limit.period_ms.get() }
    }
}

/// The level of a bucket.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateBucketAnswer {
    /// The scope of the bucket.
    pub scope: RateScopeAnswer,
    /// Whole tokens.
    pub left: u32,
    /// The size of the bucket, in tokens.
    pub burst: u32,
    /// The time until a call can be taken, milliseconds, where none can now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The time at which it is full, where that comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_at: Option<String>,
}
