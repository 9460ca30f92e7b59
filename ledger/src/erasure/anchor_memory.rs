//! The anchor's memory of erased keys, by which an older copy of the folder knows them too.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bitacora_formats::{LedgerName, Secret, erased_key_name, erased_key_of};

use crate::heads::anchor::{Anchor, AnchorError};
use crate::host::lock_order::OrderedMutex;
use crate::options::HeadOptions;

/// The memory that the anchor has of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureMemory {
    /// The ledger has no anchor: an older copy of its folder does not know of the erasure.
    NoAnchor,
    /// It remembers the erasure.
    Remembered,
    /// It could not be reached; it is asked again with the next tree head, and at the next opening.
    Pending,
}

/// The anchor of one ledger, with the keys that it was not told of yet.
pub(super) struct AnchorMemory {
    asked: Option<(Arc<dyn Anchor>, LedgerName)>,
    key: Secret,
    pending: OrderedMutex<BTreeSet<[u8; 16]>>,
}

impl AnchorMemory {
    /// The memory that the options' anchor has of the ledger with this name.
    pub(super) fn new(heads: Option<&HeadOptions>, name: Option<&LedgerName>, key: &Secret) -> Self {
        let anchor = heads.and_then(|heads| heads.anchor.clone());
        let asked = anchor.zip(name.cloned());
        Self { asked, key: key.clone(), pending: OrderedMutex::default() }
    }

    /// Returns the erased keys that the anchor remembers; none without an anchor. Names that this ledger did not seal are passed over.
    pub(super) fn load(&self) -> Result<BTreeSet<[u8; 16]>, AnchorError> {
        let Some((anchor, name)) = &self.asked else { return Ok(BTreeSet::new()) };
        let names = anchor.erased(name)?;
        Ok(names.iter().filter_map(|name| erased_key_of(&self.key, name)).collect())
    }

    /// Has the anchor remember these keys, and those that it was not told of before.
    pub(super) fn remember(&self, ids: impl IntoIterator<Item = [u8; 16]>) -> ErasureMemory {
        if self.asked.is_none() {
            return ErasureMemory::NoAnchor;
        }
        self.pending.lock().extend(ids);
        self.remember_pending();
        match self.pending.lock().is_empty() {
            true => ErasureMemory::Remembered,
            false => ErasureMemory::Pending,
        }
    }

    pub(super) fn remember_pending(&self) {
        let Some((anchor, name)) = &self.asked else { return };
        // One after the other and not under the lock: an anchor may take seconds.
        loop {
            let Some(id) = self.pending.lock().first().copied() else { return };
            if let Err(error) = anchor.remember_erased(name, &erased_key_name(&self.key, &id)) {
                tracing::warn!(%error, "the anchor does not remember an erasure yet; it is asked again");
                return;
            }
            self.pending.lock().remove(&id);
        }
    }
}

impl fmt::Debug for AnchorMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AnchorMemory").field("asked", &self.asked).finish_non_exhaustive()
    }
}
