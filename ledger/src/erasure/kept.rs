//! The state that a ledger's erasures share: who erases, and where erasures are remembered.

use std::sync::OnceLock;

use bitacora_formats::Generation;

use crate::erasure::anchor_memory::AnchorMemory;
use crate::host::lock_order::{LockRank, OrderedMutex, OrderedMutexGuard};

/// The state of a ledger's erasures, besides the keys that [`Subjects`](crate::subjects::Subjects) bars.
pub(crate) struct Erasures {
    /// Held for a whole erasure, so that the list is never written between an erasure's event and its key.
    erasing: OrderedMutex<()>,
    /// Set by an opening for writing.
    kept: OnceLock<KeptErasures>,
}

/// The places that remember erasures outside of the log.
pub(crate) struct KeptErasures {
    pub(super) generation: Generation,
    pub(super) anchor: AnchorMemory,
}

impl Default for Erasures {
    fn default() -> Self {
        Self { erasing: OrderedMutex::new(LockRank::Erasure, ()), kept: OnceLock::new() }
    }
}

impl Erasures {
    /// Waits for the erasure under way. None begins before the guard goes.
    pub(super) fn begin(&self) -> OrderedMutexGuard<'_, ()> {
        self.erasing.lock()
    }

    /// Says where erasures are remembered. The first opening of a handle does, and there is one.
    pub(super) fn keep(&self, kept: KeptErasures) {
        let _is_first = self.kept.set(kept).is_ok();
    }

    pub(super) fn kept(&self) -> Option<&KeptErasures> {
        self.kept.get()
    }

    /// Tries again to have the anchor remember what it could not.
    pub(crate) fn remember_pending(&self) {
        if let Some(kept) = self.kept.get() {
            kept.anchor.remember_pending();
        }
    }
}
