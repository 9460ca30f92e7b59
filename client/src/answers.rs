//! What a service answers, as far as an executor needs it. Members that are not known here are passed over.

use std::time::Duration;

use serde::Deserialize;

/// What was appended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Appended {
    /// One for each event, in the request's order.
    pub results: Vec<Receipt>,
    /// What the ledger added because of them, in the same atomic step.
    pub derived: Vec<DerivedReceipt>,
    /// A durable head that covers all of it.
    pub head: HeadReference,
}

/// Where an event stands.
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
    /// Whether this append added it.
    pub status: ReceiptStatus,
}

/// Whether an append added an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptStatus {
    /// It did.
    Created,
    /// An earlier one had; the receipt is the original one.
    Duplicate,
}

/// Where an event stands that the ledger added.
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

/// What holds of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may begin.
    Allow,
    /// A person is asked first.
    Review,
    /// It may not.
    Deny,
    /// A word that this version does not know: it may not.
    #[serde(other)]
    Unknown,
}

/// What was decided of a call.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The call.
    pub call: String,
    /// What holds.
    pub verdict: Verdict,
    /// Why, in one word.
    pub reason_code: String,
    /// Why, in words that an agent can act on.
    pub reason: String,
    /// The approval that waits for a person, or that allowed the call.
    pub approval: Option<ApprovalNeeded>,
    /// An allowed call has to begin before this time, RFC 3339.
    pub expires: Option<String>,
    /// How an allowed call has to be made.
    pub obligations: Option<Obligations>,
    /// `enforce`, or `observe`, where everything is allowed and `would_be` tells what would have been said.
    pub mode: String,
    /// In mode `observe`: what would have been said.
    pub would_be: Option<Verdict>,
    /// The version of the policy.
    pub policy_version: Option<String>,
    /// When another try may pass, milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Where the decision stands in the ledger.
    pub position: String,
}

/// An approval.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ApprovalNeeded {
    /// Its id.
    pub id: String,
    /// Until when it can be answered, RFC 3339.
    pub expires: Option<String>,
}

/// How an allowed call has to be made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obligations {
    /// In this time, milliseconds.
    pub timeout_ms: Option<u64>,
    /// Without the files that `files.secret` of the active policy names, and `files.not_secret` does not.
    #[serde(default)]
    pub exclude_secret_files: bool,
}

impl Decision {
    /// Whether the call may begin now. Nothing else is an allow.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }

    /// When another try may pass, where the service says so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }
}

/// What the end of a call has come to.
#[derive(Debug, Clone, Deserialize)]
pub struct OutcomeAnswer {
    /// The call.
    pub call: String,
    /// Where it stands in the ledger.
    pub position: String,
}

/// A service's no, as RFC 9457 has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong this time.
    pub detail: String,
    /// A stable name for programs.
    pub code: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// What the request may have left behind: `none`, `unknown` or `committed`.
    pub side_effects: String,
    /// Where it stands that refuses the request, if something does.
    pub position: Option<String>,
    /// The single faults, by their place.
    #[serde(default)]
    pub errors: Vec<Fault>,
}

/// One fault and its place.
#[derive(Debug, Clone, Deserialize)]
pub struct Fault {
    /// What is wrong there.
    pub detail: String,
    /// The value in the body, as a JSON pointer; in NDJSON within its line.
    pub pointer: Option<String>,
    /// The line of the body, from 1.
    pub line: Option<usize>,
}
