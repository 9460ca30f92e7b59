//! Calls of tools: requests, and the ways in which they ended.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Artifact, BlastRadius, BoundedList, BoundedText, EventData, MicroUsd, Milliseconds, Name};
use crate::Tokens;

/// Things that one call made.
pub const MAX_ARTIFACTS: usize = 64;

/// Bytes of a summary. The writer of one cuts it at [`SUMMARY_BYTES`]; a secret that is replaced in it may lengthen it
/// after that.
pub const MAX_SUMMARY_BYTES: usize = 1_024;
/// Bytes of an input or output that are kept in words.
pub const SUMMARY_BYTES: usize = 256;

/// Something that a call made, as a path or a URL.
pub type ArtifactText = BoundedText<1024>;
/// An exit code: any value of a system's 32 bits, with or without a sign.
pub type ExitCode = i64;

/// The arguments of a call as the JSON they came in: any value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallArguments(String);

impl CallArguments {
    /// The JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl Serialize for CallArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CallArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(String::from(Box::<str>::from(value))))
    }
}

impl JsonSchema for CallArguments {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "the call's arguments: any JSON" })
    }
}

/// The end of an input or output in words. Programs write characters that a terminal would obey; read here, they are spaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SummaryText(String);

impl SummaryText {
    /// Returns the end of a text, as much of it as is kept: the end of a program's output says more than its beginning.
    #[must_use]
    pub fn tail_of(text: &str) -> Self {
        let from = text.ceil_char_boundary(text.len().saturating_sub(SUMMARY_BYTES));
        Self::readable(text.get(from..).unwrap_or_default())
    }

    fn readable(text: &str) -> Self {
        let is_obeyed = |c: char| c.is_control() && c != '\t' && c != '\n';
        Self(text.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for SummaryText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() > MAX_SUMMARY_BYTES {
            let found = text.len();
            return Err(D::Error::custom(format!(
                "a summary of {found} bytes; at most {MAX_SUMMARY_BYTES} are taken"
            )));
        }
        Ok(Self::readable(&text))
    }
}

impl JsonSchema for SummaryText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Summary".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": MAX_SUMMARY_BYTES })
    }
}

/// A SHA-256 in lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Sha256Text(String);

impl Sha256Text {
    /// Of these bytes, which are a digest.
    #[must_use]
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        Self(hex::encode(digest))
    }

    /// The hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Sha256Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // Every byte is looked at, many at once, rather than up to the first that is none.
        let is_hex = text.bytes().fold(true, |all, byte| all & matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if text.len() != 64 || !is_hex {
            return Err(D::Error::custom("a SHA-256 is 64 lower-case hex digits"));
        }
        Ok(Self(text))
    }
}

impl JsonSchema for Sha256Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Sha256".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

/// The digest and the length of contents. The holder of the contents makes the digest, without any key of the ledger.
/// If the contents can be guessed, the holder uses a key of its own, or leaves the digest out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentDigest {
    /// The digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256Text>,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Tokens that a call used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCounts {
    /// Read by the model.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub input: Option<Tokens>,
    /// Written by it.
    #[serde(default, rename = "out", skip_serializing_if = "Option::is_none")]
    pub output: Option<Tokens>,
    /// Read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Tokens>,
    /// Written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Tokens>,
}

/// `tool.requested`: an agent asks to call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRequested {
    /// The call's id, by which its outcome names it.
    pub call: Name,
    /// The tool.
    pub tool: Name,
    /// The server it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Name>,
    /// The arguments. They may be sealed under a data subject's key, and are then not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<CallArguments>,
    /// The digest of the arguments in their place, from a caller that does not show them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_digest: Option<Sha256Text>,
    /// The model that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// The type of task that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<Name>,
    /// The run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Name>,
    /// The folder it works in; paths are relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<BoundedText<4096>>,
    /// Under the same key the same call is made once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Name>,
    /// The approval it brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Name>,
    /// The damage that the agent expects at most; it counts if it is more than the registry says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blast_radius: Option<BlastRadius>,
    /// The expected cost.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "estimated_cost_micro_usd")]
    pub estimated_cost: Option<MicroUsd>,
    /// `true` if a person is there to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// The time for which the caller waits for the answer and for the call after it, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<Milliseconds>,
}

macro_rules! outcome {
    ($(#[$doc:meta])* $name:ident, $status:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            /// The call.
            pub call: Name,
            /// The tool, for readers. The call's decision says which it was.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub tool: Option<Name>,
            /// The way in which it ended.
            pub status: $status,
            /// The error, in one word.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub error_type: Option<Name>,
            /// The person or program that ended it, for readers.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub by: Option<Name>,
            /// The exit code of its program.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub exit_code: Option<ExitCode>,
            /// The duration. Recordings do not always state it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub duration_ms: Option<Milliseconds>,
            /// The tokens that a model used for it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub tokens: Option<TokenCounts>,
            /// The cost.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cost_micro_usd: Option<MicroUsd>,
            /// The input's digest.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub input: Option<ContentDigest>,
            /// The output's digest.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub output: Option<ContentDigest>,
            /// The input, in words.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub input_summary: Option<SummaryText>,
            /// The output, in words.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub summary: Option<SummaryText>,
            /// The artifacts that it made or changed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub artifacts: Option<BoundedList<Artifact, 1, MAX_ARTIFACTS>>,
            /// The result of the check after it: `true` if the conditions held.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub post_check_passed: Option<bool>,
        }

        impl EventData for $name {
            const KIND: &'static str = $kind;
            const VERSION: u32 = 1;
        }
    };
}

outcome! {
    /// `tool.completed`: a call was made, and did what it should.
    ToolCompleted, CompletedStatus, "tool.completed"
}
outcome! {
    /// `tool.failed`: a call was made, and did not come to its end.
    ToolFailed, FailedStatus, "tool.failed"
}
outcome! {
    /// `tool.blocked`: a call was not made.
    ToolBlocked, BlockedStatus, "tool.blocked"
}

/// The way in which a completed call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletedStatus {
    /// As it should.
    Ok,
}

/// The way in which a failed call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailedStatus {
    /// It reported an error.
    Error,
    /// It took too long.
    Timeout,
    /// It was broken off.
    Interrupted,
}

/// The reason why a call was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedStatus {
    /// A person said no.
    Rejected,
    /// A rule or a program said no.
    Blocked,
}

impl EventData for ToolRequested {
    const KIND: &'static str = "tool.requested";
    const VERSION: u32 = 1;
}
