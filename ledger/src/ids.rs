//! Which identities were accepted, for the ledger's life: those of ended segments, beside the sequencer's own.

use std::sync::{PoisonError, RwLock};

use bitacora_formats::EventKey;

use crate::key_map::KeyMap;
use crate::staged::Known;

/// The identities of one segment.
pub(crate) type SegmentIds = KeyMap<EventKey, Known>;

/// The identities of ended segments, oldest first; all in memory, which is what
/// [`MAX_LEDGER_EVENTS`](crate::limits::MAX_LEDGER_EVENTS) bounds.
#[derive(Default)]
pub(crate) struct IdMemory {
    ended: RwLock<Vec<SegmentIds>>,
}

impl IdMemory {
    /// A segment ended; these identities stand in it.
    pub(crate) fn add_ended(&self, ids: SegmentIds) {
        self.ended.write().unwrap_or_else(PoisonError::into_inner).push(ids);
    }

    /// Where the identity stands, if it does; a retry is most likely of late.
    pub(crate) fn known(&self, key: &EventKey) -> Option<Known> {
        let ended = self.ended.read().unwrap_or_else(PoisonError::into_inner);
        ended.iter().rev().find_map(|ids| ids.get(key).copied())
    }
}
