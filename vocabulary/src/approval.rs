//! A person's word on a call: asked for, given, used up; and consent that stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AgentName, ApprovalEnd, BoundedList, BoundedText, CallArguments, Count, Dimension, DimensionPart,
    EventData, Name, PathText, ReasonCode, Sha256Text,
};

/// A note of a person, in bytes.
pub type Note = BoundedText<2048>;

/// Bytes of arguments that an edit records; of longer ones it names the digest alone.
pub const MAX_EDITED_ARGUMENTS_BYTES: usize = 16 * 1024;
/// Places that one approval shows.
pub const MAX_APPROVAL_DESTINATIONS: usize = 64;
/// Reasons that an approval is asked for: as many as there are steps at most.
pub const MAX_APPROVAL_REASONS: usize = 13;
/// Parts of a command that one approval shows, and that one grant names.
pub const MAX_COMMAND_PARTS: usize = 64;

/// `approval.requested`: a call waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequested {
    /// Its id, by which it is resolved.
    pub approval: Name,
    /// The subject of the approval; without it, the call.
    #[serde(default, skip_serializing_if = "ApprovalAbout::is_call")]
    pub about: ApprovalAbout,
    /// The call that asked first.
    pub call: Name,
    /// The tool to be called.
    pub tool: Name,
    /// The server that the tool belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Name>,
    /// The folder that the arguments are relative to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathText>,
    /// The dimension that the call counts for, with its context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<Dimension>,
    /// The destinations that it would reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<BoundedList<BoundedText<1024>, 1, MAX_APPROVAL_DESTINATIONS>>,
    /// The parts of a command: each program that it runs with its arguments, as rules compare them. `opaque` is among
    /// them if it may run others too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<BoundedList<BoundedText<1024>, 1, MAX_COMMAND_PARTS>>,
    /// The number of parts it has besides those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_parts: Option<Count>,
    /// The registration of the tool under which it was asked for; under another one it is stale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_revision: Option<u64>,
    /// The binding of the approval: SHA-256 over the binding arguments. Without it the arguments are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<Sha256Text>,
    /// The policy under which it was asked for; under another one it is stale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<u64>,
    /// Roles that may resolve it.
    pub approvers: Vec<Name>,
    /// The actor of the call that asked for it; this actor cannot resolve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<BoundedText<1024>>,
    /// The agent of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Governed time, in microseconds since 1970, from which on it cannot be used.
    pub expires: u64,
    /// The answer to the same call from then on, where nobody resolved it. Without it the call asks for another approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_end: Option<ApprovalEnd>,
    /// The reasons of all steps that would have the call reviewed; an approval lifts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_codes: Option<BoundedList<ReasonCode, 1, MAX_APPROVAL_REASONS>>,
    /// The contract whose check after the call failed, where a rollback is asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Name>,
}

/// The subject of an approval.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAbout {
    /// The call: an approval lets it run.
    #[default]
    Call,
    /// The rollback of the call, after which a check failed. No call runs by this approval.
    Rollback,
}

impl ApprovalAbout {
    fn is_call(&self) -> bool {
        *self == Self::Call
    }
}

/// `approval.resolved`: a person, or the end of its time, has answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalResolved {
    /// The approval's id.
    pub approval: Name,
    /// The answer.
    pub resolution: Resolution,
    /// The person who answered: the actor of the event.
    pub by: BoundedText<1024>,
    /// In the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// The digest of the arguments that were approved, if they differ from those asked for. It holds from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<Sha256Text>,
    /// Those arguments; without them only their digest was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<CallArguments>,
    /// The folder that they are relative to, where it is another than that of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathText>,
}

/// The way in which an approval was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The call may run, once.
    Approved,
    /// It may not.
    Rejected,
    /// Another call may run in its place: the same tool with the arguments of another digest.
    Edited,
    /// Nobody answered in time.
    Expired,
    /// It was taken back.
    Withdrawn,
}

impl Resolution {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Approved, Self::Rejected, Self::Edited, Self::Expired, Self::Withdrawn];

    /// It in one word, as it is recorded.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Edited => "edited",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// `approval.consumed`: a call was allowed by an approval, which is used up by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalConsumed {
    /// The approval's id.
    pub approval: Name,
    /// The call that was allowed.
    pub call: Name,
}

/// `grant.given`: standing consent of a person to calls within a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantGiven {
    /// Its id.
    pub grant: Name,
    /// The calls that it consents to.
    pub scope: GrantScope,
    /// Governed time, in microseconds since 1970, from which on it no longer holds.
    pub expires: u64,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// The scope of a grant: calls that agree with every member that is there.
///
/// A grant that does not name the agent, its project and the context covers nothing: earlier versions of the rules
/// asked for the tool alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantScope {
    /// The tool, always named.
    pub tool: Name,
    /// The server that the tool belongs to; without it the tool of no server is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Name>,
    /// The context, as decisions show it. A call that can run commands that could not be read from it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<BoundedText<1024>>,
    /// The project, as the workspace in the dimension of decisions shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<DimensionPart>,
    /// Of commands, the parts that they may have, as approvals show them. Without it a command may have the context as its only part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<BoundedList<BoundedText<1024>, 1, MAX_COMMAND_PARTS>>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<BoundedText<1024>>,
}

/// `grant.revoked`: it holds no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantRevoked {
    /// The grant's id.
    pub grant: Name,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

impl EventData for ApprovalRequested {
    const KIND: &'static str = "approval.requested";
    const VERSION: u32 = 1;
}

impl EventData for ApprovalResolved {
    const KIND: &'static str = "approval.resolved";
    const VERSION: u32 = 1;
}

impl EventData for ApprovalConsumed {
    const KIND: &'static str = "approval.consumed";
    const VERSION: u32 = 1;
}

impl EventData for GrantGiven {
    const KIND: &'static str = "grant.given";
    const VERSION: u32 = 1;
}

impl EventData for GrantRevoked {
    const KIND: &'static str = "grant.revoked";
    const VERSION: u32 = 1;
}
