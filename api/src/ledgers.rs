//! Ledgers: their states, and the acts of an operator on them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::HeadReference;

/// The ledgers of a service, by name.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LedgerList {
    /// Sorted by name.
    pub ledgers: Vec<LedgerAnswer>,
    /// The value of `after` for the next page. Absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The state of one ledger.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerAnswer {
    /// Its name.
    #[schema(example = "main")]
    pub name: String,
    /// `ready`, `read-only`, `stopped`, `closing`, `closed`, `failed` where it did not open, or `waiting` where its anchor has to answer first.
    #[schema(example = "ready")]
    pub state: String,
    /// The reason for which it takes no appends, where it takes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Its identity, hexadecimal; absent where it did not open, like all that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its durable head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadReference>,
    /// The key that its signed tree heads are verified with, as c2sp.org/signed-note writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifier_key: Option<String>,
    /// The Ed25519 key that answers to hooks are verified with, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_key: Option<String>,
    /// Events that the last signed tree head covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed: Option<String>,
    /// Events that the anchor remembers, as far as is known; absent without an anchor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchored: Option<String>,
    /// Events that the last tree head covers that a quorum of the witnesses cosigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witnessed: Option<String>,
    /// Segment files that hold events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<u64>,
    /// Requests waiting to be sequenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_requests: Option<u64>,
    /// Bytes waiting to be sequenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<u64>,
}

impl LedgerAnswer {
    /// Returns the answer about a ledger of which no more is known.
    pub fn new(name: impl Into<String>, state: impl Into<String>) -> Self {
        Self { name: name.into(), state: state.into(), ..Self::default() }
    }
}

/// The body that makes a ledger.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LedgerCreation {
    /// 1 to 64 characters of `a-z`, `0-9` and `-`, beginning with a letter or digit.
    #[schema(example = "main")]
    pub name: String,
}

/// The body that ends a ledger's live segment.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SealRequest {
    /// The ledger's name.
    #[schema(example = "main")]
    pub ledger: String,
}

/// The body that stops a ledger from taking appends, or lets it take them again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReadOnlyRequest {
    /// The ledger's name.
    #[schema(example = "main")]
    pub ledger: String,
    /// `true` if it refuses appends from now on.
    pub read_only: bool,
}
