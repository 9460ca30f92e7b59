//! Calls that wait for a person, and their words.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The state of everything that a person is asked for and has not answered.
pub const PENDING: &str = "pending";

/// Approvals that wait.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    /// The oldest first.
    pub approvals: Vec<ApprovalAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An approval, and what has become of it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswer {
    /// Its id.
    #[schema(example = "a918274")]
    pub id: String,
    /// `pending`, `approved`, `rejected`, `edited`, `withdrawn`, `expired`, or `consumed` where a call was allowed by it.
    #[schema(example = "pending")]
    pub status: String,
    /// The act that an approval permits: `call`, or `rollback` where the check after a call failed.
    #[schema(example = "call")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The call that asked first.
    pub call: String,
    /// `true` where it waits though that call's outcome was told: whatever the answer, that call has run or will not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_ended: Option<bool>,
    /// The reason for which the log does not say what the call would do, or whether it has ended: it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// The tool.
    pub tool: String,
    /// The server that the tool belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The folder that the arguments are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The context that trust is kept for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The destinations that the call would reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<String>>,
    /// Of a command, the parts: each program that it runs, with the operation that it is told to do, as rules compare them, however long
    /// the command is. `opaque` is among them where it may run other programs too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<String>>,
    /// The number of its parts besides those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_parts: Option<u64>,
    /// The arguments as they are recorded, where they are known and not too long.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Box<RawValue>>,
    /// The length of the arguments, bytes, where that is too long to show them here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_bytes: Option<u64>,
    /// The digest of the action that it is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<String>,
    /// The policy under which it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// Roles that may resolve it.
    pub approvers: Vec<String>,
    /// The actor that asked; it cannot resolve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// The agent of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The reasons of all steps that would have the call reviewed; an approval lifts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_codes: Option<Vec<String>>,
    /// The contract whose check after the call failed, where a rollback is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The time at which it was asked for.
    pub asked: String,
    /// The time until which it can be resolved and used.
    pub expires: String,
    /// `deny` where the same call is denied for as long again if nobody answers in time; without it the call asks once more.
    #[schema(example = "deny")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_end: Option<String>,
    /// The answer to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<ResolutionAnswer>,
    /// The call that was allowed by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed: Option<ConsumedAnswer>,
    /// The position of the request for it.
    pub position: String,
}

/// A person's word.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolutionAnswer {
    /// `approved`, `rejected`, `edited`, `expired` or `withdrawn`.
    pub resolution: String,
    /// The actor of the answer.
    pub by: String,
    /// In their words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The digest of the arguments that were approved in the place of those asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<String>,
    /// Those arguments, as they are recorded.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Box<RawValue>>,
    /// The folder that they are relative to, where it is another than that of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The time of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// The call that was allowed by an approval.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ConsumedAnswer {
    /// The id of the call.
    pub call: String,
    /// The time at which it was allowed.
    pub at: String,
}

/// The body that comes with a person's word on an approval.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolutionRequest {
    /// The reason, in the person's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// With `:edit`: the arguments that are approved in the place of those asked for.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Box<RawValue>>,
    /// With `:edit`: the folder that their paths are relative to; that of the call where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// With `:edit`: the digest of the arguments, where they are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_digest: Option<String>,
}
