//! The end of a ledger: its last position, with chain hash and tree root.

use bitacora_formats::{ChainHash, TreeHash};

/// The last position, and the hashes that commit to everything up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The last position.
    pub position: u64,
    /// The chain hash after the last frame.
    pub hash: ChainHash,
    /// The root of the tree over all events.
    pub tree_root: TreeHash,
}
