//! The state that a ledger's erasures share: who erases, and where erasures are remembered.

use std::sync::OnceLock;

use bitacora_formats::{Generation, Position};

use crate::erasure::anchor_memory::AnchorMemory;
use crate::host::lock_order::{LockRank, OrderedMutex, OrderedMutexGuard};
use crate::subjects::destruction::NamedKey;

/// The state of a ledger's erasures, besides the keys that [`Subjects`](crate::subjects::Subjects) bars.
pub(crate) struct Erasures {
    /// Held for an erasure until its key is destroyed, so that the list is never written between an erasure's event and its key. Held while a hold is placed, so
    /// that an erasure finds it or is over.
    erasing: OrderedMutex<()>,
    /// Keys that are recorded as erased, and whose files could not be removed.
    unfinished: OrderedMutex<Vec<(NamedKey, Position)>>,
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
        Self {
            erasing: OrderedMutex::new(LockRank::Erasure, ()),
            unfinished: OrderedMutex::default(),
            kept: OnceLock::new(),
        }
    }
}

impl Erasures {
    /// Waits for the erasure, or the change of holds, that is under way. None begins before the guard goes.
    pub(crate) fn begin(&self) -> OrderedMutexGuard<'_, ()> {
        self.erasing.lock()
    }

    /// Says where erasures are remembered. The first opening of a handle does, and there is one.
    pub(super) fn keep(&self, kept: KeptErasures) {
        let _is_first = self.kept.set(kept).is_ok();
    }

    /// Returns the erasure of such a key that is not finished.
    pub(super) fn unfinished(&self, is_it: impl Fn(&NamedKey) -> bool) -> Option<(NamedKey, Position)> {
        self.unfinished.lock().iter().find(|(key, _)| is_it(key)).copied()
    }

    pub(super) fn note_unfinished(&self, key: NamedKey, position: Position) {
        let mut unfinished = self.unfinished.lock();
        if !unfinished.iter().any(|(other, _)| *other == key) {
            unfinished.push((key, position));
        }
    }

    pub(super) fn note_finished(&self, key: &NamedKey) {
        self.unfinished.lock().retain(|(other, _)| other.id != key.id);
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
