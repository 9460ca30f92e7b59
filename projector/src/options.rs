//! The options of an index.

use std::sync::Arc;

use bitacora_formats::MAX_INDEX_BLOCK_EVENTS;

use crate::models::RecallSlots;

/// The options of an index.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// Events of a block: 1 to [`MAX_INDEX_BLOCK_EVENTS`], clamped. Few make many files; a block that was stored stays as it
    /// is.
    pub block_events: u64,
    /// `true` if there are read models too. They lie in a store that knows the machine's own disk alone.
    pub read_models: bool,
    /// The builds that are folded again at once for questions about rows that left; `None` for bounds of this ledger's own.
    pub recalls: Option<Arc<RecallSlots>>,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { block_events: MAX_INDEX_BLOCK_EVENTS, read_models: false, recalls: None }
    }
}
