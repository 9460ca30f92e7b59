//! The durable head of a ledger.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The durable head that an answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeadReference {
    /// The last durable position.
    #[schema(example = "18")]
    pub position: String,
    /// The chain hash up to it, hexadecimal.
    pub hash: String,
}

/// The durable head of a ledger, with the hashes that commit to all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadAnswer {
    /// The last durable position, and the size of the tree.
    #[schema(example = "18")]
    pub position: String,
    /// The chain hash up to it, hexadecimal.
    pub hash: String,
    /// The time of the last frame.
    #[schema(example = "2026-11-20T13:00:00.000000Z")]
    pub time: String,
    /// The RFC 6962 root over all events, hexadecimal.
    pub tree_root: String,
}
