//! Principals: who has, or had, a token of a ledger. Never a token, nor its hash.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Holders of tokens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PrincipalList {
    /// By their ids.
    pub principals: Vec<PrincipalAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A holder of a token.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PrincipalAnswer {
    /// Its id, by which it is revoked.
    pub principal: String,
    /// `agent`, `operator`, `admin`, `auditor` or `metrics`.
    #[schema(example = "operator")]
    pub role: String,
    /// The name that its acts are recorded under.
    pub actor: String,
    /// `valid`, `expired` or `revoked`.
    #[schema(example = "valid")]
    pub state: String,
    /// A description of the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent whose token it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The time of its creation.
    pub created: String,
    /// The position of its creation.
    pub position: String,
    /// The time from which on its token is not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The time at which it was revoked, or its end was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The reason of the revocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
