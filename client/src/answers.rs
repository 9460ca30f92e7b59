//! The service's answers, as far as an executor needs them.
//! Unknown members are passed over.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The answer to an append.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AppendReceipt {
    /// One for each event, in the request's order.
    pub results: Vec<Receipt>,
    /// Events that the ledger added because of them, in the same atomic step.
    pub derived: Vec<DerivedReceipt>,
    /// A durable head that covers all of it.
    pub head: HeadReference,
}

/// The receipt of one appended event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Its id.
    pub id: String,
    /// Its position in the ledger, from 1.
    pub position: String,
    /// Its version in its stream, from 1.
    pub stream_version: String,
    /// The commitment to its record, hexadecimal.
    pub commitment: String,
    /// The status: new, or a repetition.
    pub status: ReceiptStatus,
}

/// The status of an appended event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptStatus {
    /// This append added the event.
    Created,
    /// An earlier append had added the event; the receipt is the original one.
    Duplicate,
}

/// The receipt of an event that the ledger added itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DerivedReceipt {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its position in the ledger.
    pub position: String,
}

/// A durable head.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HeadReference {
    /// The last durable position.
    pub position: String,
    /// The chain hash up to it, hexadecimal.
    pub hash: String,
}

/// The verdict on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The call may begin.
    Allow,
    /// A person is asked first.
    Review,
    /// The call may not begin.
    Deny,
    /// A word that this version does not know: the call may not begin.
    #[serde(other)]
    Unknown,
}

/// The decision about a call.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The call.
    pub call: String,
    /// The verdict in force.
    pub verdict: Verdict,
    /// The reason, in one word.
    pub reason_code: String,
    /// The reason, in words that an agent can act on.
    pub reason: String,
    /// The approval that waits for a person, or that allowed the call.
    pub approval: Option<ApprovalNeeded>,
    /// The deadline before which an allowed call has to begin, RFC 3339.
    pub expires: Option<String>,
    /// The conditions on an allowed call.
    pub obligations: Option<Obligations>,
    /// `enforce` or `observe`. In `observe` every call is allowed, and `would_be` holds the verdict of `enforce`.
    pub mode: String,
    /// The verdict that `enforce` would have given; present in mode `observe`.
    pub would_be: Option<Verdict>,
    /// The version of the policy.
    pub policy_version: Option<String>,
    /// The time after which a retry may pass, milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The decision's position in the ledger.
    pub position: String,
}

/// An approval.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ApprovalNeeded {
    /// Its id.
    pub id: String,
    /// The end of the time in which it can be answered, RFC 3339.
    pub expires: Option<String>,
}

/// The conditions on an allowed call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obligations {
    /// The call's timeout, milliseconds.
    pub timeout_ms: Option<u64>,
    /// Set when the call must leave out the files that `files.secret` of the active policy names and `files.not_secret`
    /// does not.
    #[serde(default)]
    pub exclude_secret_files: bool,
}

impl Decision {
    /// Returns `true` if the call may begin now. Nothing else is an allow.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    /// Returns the time after which a retry may pass, where the service names one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }
}

/// The answer to the reported end of a call.
#[derive(Debug, Clone, Deserialize)]
pub struct OutcomeAnswer {
    /// The call.
    pub call: String,
    /// The outcome's position in the ledger.
    pub position: String,
}

/// A refusal by the service, in the form of RFC 9457.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The fault of this request, in words.
    pub detail: String,
    /// A stable name for programs.
    pub code: String,
    /// Set when a retry of the same request may succeed.
    pub retryable: bool,
    /// The side effects that the request may have left behind: `none`, `unknown` or `committed`.
    pub side_effects: String,
    /// The position of the event that is the reason for the refusal, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// The single faults, by their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// All other members: `type`, `title`, and those of single codes.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// One fault and its place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fault {
    /// The fault, in words.
    pub detail: String,
    /// The value in the body, as a JSON pointer; in NDJSON within its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The line of the body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// All other places: `parameter`, `header` and `ledger`.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
