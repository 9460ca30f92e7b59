//! The caller of a request, as the ledger knows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The caller, as the ledger knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallerAnswer {
    /// The name that their acts are recorded under.
    #[schema(example = "operator:o1")]
    pub actor: String,
    /// `agent`, `operator`, `admin`, `auditor` or `metrics`.
    #[schema(example = "operator")]
    pub role: String,
    /// The agent whose token it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// `true` if a token says so; `false` on a service that lets callers in without one.
    pub attested: bool,
}

/// A link that signs in to the console once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignInLink {
    /// The path, with the code that signs in; without one where the service lets callers in without a token.
    pub path: String,
    /// The name that acts are recorded under.
    pub actor: String,
    /// The role of that name.
    pub role: String,
    /// The link's life, seconds; 0 where it has no code.
    pub seconds: u64,
}
