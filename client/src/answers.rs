//! The decision about a call, as far as an executor needs it. Unknown members are passed over.
//!
//! It is a type of its own since a verdict that this version does not know has to be no allow.

use std::time::Duration;

use bitacora_api::{ApprovalReference, ObligationsAnswer};
use serde::Deserialize;

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
    pub approval: Option<ApprovalReference>,
    /// The deadline before which an allowed call has to begin, RFC 3339.
    pub expires: Option<String>,
    /// The conditions on an allowed call.
    pub obligations: Option<ObligationsAnswer>,
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
