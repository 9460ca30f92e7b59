//! A loss that its owner declares: the ledger goes on from what it has, in a new generation that says so.

use bitacora_formats::{Generation, TreeHash};
use serde_json::json;

use crate::receipt::Head;
use crate::remembered::LostHead;

/// What was lost, and what the ledger goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLoss {
    /// The generation that begins.
    pub generation: Generation,
    /// The size of the last tree head that is remembered.
    pub lost_size: u64,
    /// Its root.
    pub lost_root: TreeHash,
    /// Its note.
    pub lost_note: String,
    /// The last event that is left, and what commits to all up to it.
    pub retained: Head,
}

impl DeclaredLoss {
    pub(crate) fn new(generation: Generation, lost: LostHead, retained: Head) -> Self {
        let LostHead { size, root, note } = lost;
        Self { generation, lost_size: size, lost_root: root, lost_note: note, retained }
    }

    /// How many events are known to be lost; 0 where others took their places.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        self.lost_size.saturating_sub(self.retained.position.get())
    }

    /// What the first event of the generation says.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({
            "generation": self.generation.0,
            "lostHead": {
                "size": self.lost_size.to_string(),
                "root": self.lost_root.to_string(),
                "note": self.lost_note,
            },
            "retained": {
                "size": self.retained.position.to_string(),
                "root": self.retained.tree_root.to_string(),
                "hash": self.retained.hash.to_string(),
            },
        })
    }
}
