//! The verdicts that another policy would have given.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The verdicts that another policy would have given for recorded calls, all else being as it was.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfAnswer {
    /// The version that was tried, where it is a published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its digest.
    pub digest: String,
    /// Warnings of its probable mistakes: rules that never decide, one that denies everything.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Box<RawValue>>,
    /// The number of calls that were judged, the newest ones.
    pub calls: u64,
    /// The number of those with another verdict.
    pub changed: u64,
    /// The number of those whose new verdict rests on a fact that is not known of the call: the strictest is assumed.
    pub uncertain: u64,
    /// The number of further calls that could not be judged: the facts of their decision are not recorded, or it was made by rules that
    /// this program does not have.
    pub unjudged: u64,
    /// The position of the oldest decision that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// `true` if there are no older ones.
    pub complete: bool,
    /// The number of calls for each pair of old and new verdict; the mildest first.
    pub verdicts: Vec<ChangedVerdict>,
    /// The calls of each tool with another verdict, those with the most first, up to 50.
    #[serde(default)]
    pub by_tool: Vec<ChangedGroup>,
    /// The same by agent; `-` for calls that named none.
    #[serde(default)]
    pub by_agent: Vec<ChangedGroup>,
    /// The calls of each day, UTC, the newest 92 of them; also days without another verdict.
    #[serde(default)]
    pub by_day: Vec<ChangedGroup>,
    /// The newest calls with another verdict, up to 50.
    pub examples: Vec<ChangedCall>,
}

/// A verdict, and what it would be.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ChangedVerdict {
    /// The verdict that all steps together gave.
    #[schema(example = "review")]
    pub before: String,
    /// The verdict that they would have given.
    #[schema(example = "allow")]
    pub after: String,
    /// The number of calls.
    pub calls: u64,
    /// The number of those for which something was assumed.
    pub uncertain: u64,
    /// The positions of the newest of these decisions, up to 16.
    pub examples: Vec<String>,
}

/// Calls that have something in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedGroup {
    /// The tool, the agent or the day.
    #[schema(example = "Bash")]
    pub name: String,
    /// The calls that were judged.
    pub calls: u64,
    /// Those that would be judged more strictly.
    pub stricter: u64,
    /// Those that would be judged more mildly.
    pub milder: u64,
}

/// A call with another verdict.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ChangedCall {
    /// The position of its decision.
    pub position: String,
    /// The call.
    pub call: String,
    /// Its tool.
    pub tool: String,
    /// Its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The verdict that all steps together gave.
    pub before: StepsAnswer,
    /// The verdict that they would have given.
    pub after: StepsAnswer,
    /// `true` if nothing was assumed.
    pub certain: bool,
}

/// The verdict that all steps together give a call, before a person's word, a grant or the mode.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepsAnswer {
    /// `allow`, `review` or `deny`.
    pub verdict: String,
    /// The first step that gives it, in one word.
    #[schema(example = "trust-require-review")]
    pub reason_code: String,
    /// The rule that matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}
