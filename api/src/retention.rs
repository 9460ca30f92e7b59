//! The retention policy.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use bitacora_vocabulary::{RetentionGlobs, RetentionRule};

/// The retention policy in force.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RetentionAnswer {
    /// Its rules, in the words of `retention.changed`. Without any everything is kept for ever.
    pub rules: Vec<RetentionRuleAnswer>,
    /// The position of the event that set it; absent before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

/// A rule of a retention policy: the events that agree with every member that is there.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionRuleAnswer {
    /// Its name.
    #[schema(example = "outcomes")]
    pub rule: String,
    /// Days from an event's time of recording on, 1 to 36,500.
    #[schema(example = 400)]
    pub keep_days: u32,
    /// Globs of types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["tool.*"]))]
    pub types: Option<Vec<String>>,
    /// Globs of streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Vec<String>>,
    /// `true`: events that name a data subject; `false`: those that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<bool>,
    /// The reason for fewer than 180 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shorter_because: Option<String>,
}

impl From<&RetentionRule> for RetentionRuleAnswer {
    fn from(rule: &RetentionRule) -> Self {
        let RetentionRule { rule, keep_days, types, streams, subjects, shorter_because } = rule;
        let texts = |globs: &Option<RetentionGlobs>| {
            globs.as_ref().map(|globs| globs.iter().map(ToString::to_string).collect())
        };
        Self {
            rule: rule.to_string(),
            keep_days: keep_days.get(),
            types: texts(types),
            streams: texts(streams),
            subjects: *subjects,
            shorter_because: shorter_because.as_ref().map(ToString::to_string),
        }
    }
}

/// The body that sets the whole retention policy.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RetentionRequest {
    /// Its rules, at most 64. They take the place of all before.
    pub rules: Vec<RetentionRuleAnswer>,
    /// The reason. It is recorded for good.
    pub reason: String,
    /// The person on whose behalf it is set. It is recorded for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
