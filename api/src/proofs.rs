//! Proofs of the Merkle tree.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// That an event is in the tree of the first `size` events.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InclusionAnswer {
    /// The event's position; its leaf is the one before, counted from 0.
    #[schema(example = "17")]
    pub position: String,
    /// The size of the tree.
    #[schema(example = "918275")]
    pub size: String,
    /// The 48 bytes that the leaf is made from, hexadecimal: position, frame time, commitment.
    pub entry: String,
    /// SHA-256 of 0x00 and the entry, hexadecimal.
    pub leaf_hash: String,
    /// The root of that tree, hexadecimal.
    pub root: String,
    /// The proof, hexadecimal, the lowest first.
    pub hashes: Vec<String>,
}

/// That the tree of the first `to` events begins with that of the first `from`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsistencyAnswer {
    /// The size of the earlier tree.
    #[schema(example = "17")]
    pub from: String,
    /// The size of the later tree.
    #[schema(example = "918275")]
    pub to: String,
    /// The root of the earlier tree, hexadecimal.
    pub old_root: String,
    /// The root of the later tree, hexadecimal.
    pub new_root: String,
    /// The proof, hexadecimal.
    pub hashes: Vec<String>,
}
