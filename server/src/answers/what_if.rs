//! What another policy would have said.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What another policy would have said of recorded calls, all else being as it was.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfAnswer {
    /// The version that was tried, where it is a published one.
    pub version: Option<String>,
    /// Its digest.
    pub digest: String,
    /// What is probably not meant in it: rules that never decide, one that denies everything.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Value>,
    /// How many calls were judged, the newest ones.
    pub calls: u64,
    /// Of how many of them the verdict would be another one.
    pub changed: u64,
    /// Of how many it rests on something that is not known of the call: the strictest is assumed.
    pub uncertain: u64,
    /// How many more could not be judged: what they were decided on is not recorded, or was by rules that this program does not have.
    pub unjudged: u64,
    /// Where the oldest decision stands that was looked at.
    pub oldest: Option<String>,
    /// Whether there are no older ones.
    pub complete: bool,
    /// How often each verdict became each other one, or stayed; the mildest first.
    pub verdicts: Vec<ChangedVerdict>,
    /// The newest calls with another verdict, up to 50.
    pub examples: Vec<ChangedCall>,
}

/// A verdict, and what it would be.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ChangedVerdict {
    /// What all steps together said.
    #[schema(example = "review")]
    pub before: String,
    /// What they would have said.
    #[schema(example = "allow")]
    pub after: String,
    /// Of how many calls.
    pub calls: u64,
    /// Of how many of them something was assumed.
    pub uncertain: u64,
    /// Where the newest of these decisions stand, up to 16.
    pub examples: Vec<String>,
}

/// A call with another verdict.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ChangedCall {
    /// Where its decision stands.
    pub position: String,
    /// The call.
    pub call: String,
    /// Its tool.
    pub tool: String,
    /// What all steps together said.
    pub before: StepsAnswer,
    /// What they would have said.
    pub after: StepsAnswer,
    /// Whether nothing was assumed.
    pub certain: bool,
}

/// What all steps together say of a call, before a person's word, a grant or the mode.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepsAnswer {
    /// `allow`, `review` or `deny`.
    pub verdict: String,
    /// The first step that gives it, in one word.
    #[schema(example = "trust-require-review")]
    pub reason_code: String,
    /// The rule that matches.
    pub rule: Option<String>,
}
