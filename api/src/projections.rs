//! The progress of projections.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The projections of a service, by ledger.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ProjectionList {
    /// Sorted by ledger and name.
    pub projections: Vec<ProjectionAnswer>,
    /// The value of `after` for the next page. Absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The progress of one projection. Events that it has not folded yet are read from the log, so a lag costs time only.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionAnswer {
    /// The ledger it is made from.
    #[schema(example = "main")]
    pub ledger: String,
    /// Its name.
    #[schema(example = "index")]
    pub name: String,
    /// The version of its rules and its layout.
    #[schema(example = 1)]
    pub version: u32,
    /// `ok`, `rebuilding`, `degraded` or `stopped`.
    #[schema(example = "ok")]
    pub state: String,
    /// The fault, where it is degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The last position up to which it knows every event; `0` before the first.
    #[schema(example = "918275")]
    pub position: String,
    /// Durable events past that position.
    #[schema(example = 0)]
    pub lag: u64,
    /// The number of rows of a read model, as of the digest's position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The digest, hexadecimal: the same events give the same, however often it was made again. Absent at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The last position that the digest covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest_position: Option<String>,
}

/// A read model that is folded again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RebuildAnswer {
    /// Its name.
    #[schema(example = "calls")]
    pub projection: String,
}
