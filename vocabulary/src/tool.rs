//! Tools as an operator registers them.

mod artifact;
mod call;
mod definition;
mod document;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BoundedList, BoundedText, EventData, FileAccess, Glob, MicroUsd, Milliseconds, Name, PointerText, Risk,
    ToolTimes,
};

pub use artifact::{Artifact, DescribedArtifact};
pub use call::{
    ArtifactText, BlockedStatus, CallArguments, CompletedStatus, ContentDigest, ExitCode, FailedStatus,
    MAX_ARTIFACTS, MAX_SUMMARY_BYTES, SUMMARY_BYTES, Sha256Text, SummaryText, TokenCounts, ToolBlocked,
    ToolCompleted, ToolFailed, ToolRequested,
};
pub use definition::{DefinitionText, MAX_DEFINITION_BYTES, ToolDescribed, ToolDrifted};
pub use document::{MAX_SCHEMA_BYTES, SchemaError, SchemaText};

/// Roles of one tool.
pub const MAX_ALLOWED_ROLES: usize = 16;
/// Binding fields of one tool.
pub const MAX_BINDING_FIELDS: usize = 32;
/// Places of one tool's arguments that say where a call reaches.
pub const MAX_DESTINATIONS: usize = 16;
/// Globs of one destination.
pub const MAX_DESTINATION_GLOBS: usize = 64;
/// Tries of one call after the first.
pub const MAX_RETRIES: u32 = 100;

/// A tool's description of itself.
pub type DescriptionText = BoundedText<8192>;

/// The registration of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDocument {
    /// Its name, as calls name it.
    pub tool: Name,
    /// The server it belongs to; calls name it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Name>,
    /// The tool's own version.
    pub version: Name,
    /// The tool's description.
    pub description: DescriptionText,
    /// The JSON Schema of its arguments.
    pub input_schema: SchemaText,
    /// The JSON Schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<SchemaText>,
    /// The changes that it may make.
    pub risk: Risk,
    /// The damage that a call may do.
    pub blast_radius: BlastRadius,
    /// `true`: a person looks at every call.
    pub requires_review: bool,
    /// Roles that may use it; none means nobody may.
    pub allowed_roles: BoundedList<Name, 0, MAX_ALLOWED_ROLES>,
    /// The cost of a call, if it is known before.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "estimated_cost_micro_usd")]
    pub estimated_cost: Option<MicroUsd>,
    /// A call ends after this.
    pub timeout_ms: Milliseconds,
    /// The retries of a call.
    pub retry: Retry,
    /// The means by which a call can be repeated without doing it twice.
    pub idempotency: Idempotency,
    /// `true` if it waits for something, so that the same call is made again and again: identical calls of it are no loop.
    #[serde(default, skip_serializing_if = "is_false")]
    pub polls: bool,
    /// Arguments that an approval and an idempotency key are bound to; none means all of them.
    pub binding_fields: BoundedList<PointerText, 0, MAX_BINDING_FIELDS>,
    /// Times for people and for its calls, if they differ from the policy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<ToolTimes>,
    /// The arguments that are the call's context. Without it the context is `-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_from: Option<ContextFrom>,
    /// The destinations that a call may reach. Without it a call reaches the places that its context is made of, and may reach anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<BoundedList<DestinationRule, 1, MAX_DESTINATIONS>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The damage that a call may do, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlastRadius {
    /// Things that the agent works on by itself.
    Low,
    /// Things that others work on too.
    Medium,
    /// Things that others depend on.
    High,
    /// Damage that cannot be repaired: never without a person.
    Critical,
}

/// The retries of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    /// Tries after the first.
    #[serde(deserialize_with = "document::at_most_retries")]
    #[schemars(range(max = MAX_RETRIES))]
    pub max: u32,
    /// The wait before each.
    pub backoff_ms: Milliseconds,
}

/// The means by which a call can be repeated without doing it twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// No means: a repeated call does it twice.
    None,
    /// An idempotency key: repeated calls under one key do it once.
    Keyed,
}

/// The argument that is the call's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFrom {
    /// The argument's place.
    pub pointer: PointerText,
    /// The way in which it is read.
    pub normaliser: Normaliser,
    /// The context of a call that leaves it out; `-` without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_absent: Option<Name>,
}

/// The way in which a context is made of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Normaliser {
    /// A file or folder: its first two folders.
    Path,
    /// Text for a shell: the commands it runs.
    Command,
    /// A URL or a host: the host.
    Host,
}

/// A destination in the arguments, and the places that it may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DestinationRule {
    /// The argument's place: a text, or a list of them.
    pub pointer: PointerText,
    /// The kind of place.
    pub kind: DestinationKind,
    /// One of these has to match: `*` stops at `/`, `**` does not. A pattern for names is not compared with them.
    pub globs: BoundedList<Glob, 1, MAX_DESTINATION_GLOBS>,
    /// The tool's access to it. Left out, a tool of risk `read` reads, and any other one writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<FileAccess>,
    /// The place of a call that leaves the argument out: nowhere without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_absent: Option<Name>,
}

/// The kind of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DestinationKind {
    /// A file or folder.
    Path,
    /// A URL or a host.
    Host,
    /// A glob for the names of files that the call works on.
    Pattern,
    /// The name of a person or thing that is reached: a telephone number, an address, an id. It is compared as it is written.
    Text,
}

/// `tool.registered`: a tool may be called from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolRegistered(pub ToolDocument);

/// `tool.changed`: a registered tool is this from now on, as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolChanged(pub ToolDocument);

/// `tool.revoked`: a tool may no longer be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRevoked {
    /// Its name.
    pub tool: Name,
    /// The server it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Name>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<BoundedText<2048>>,
}

impl EventData for ToolRegistered {
    const KIND: &'static str = "tool.registered";
    const VERSION: u32 = 1;
}

impl EventData for ToolChanged {
    const KIND: &'static str = "tool.changed";
    const VERSION: u32 = 1;
}

impl EventData for ToolRevoked {
    const KIND: &'static str = "tool.revoked";
    const VERSION: u32 = 1;
}

#[cfg(test)]
mod tests;
