//! The removal of copies of archives that a crash left in the store.

use crate::error::ArchiverError;
use crate::worker::Archiver;

impl Archiver {
    /// Removes copies of archives that a crash left in the store, in this ledger's folders: their content would outlast the archive's. The
    /// caller has the lock.
    pub(crate) fn remove_leftovers(&self) -> Result<(), ArchiverError> {
        let ledger = self.ledger.id().to_string();
        for generation in self.objects.list(&ledger)?.folders {
            let folder = format!("{ledger}/{generation}");
            let removed = self.objects.remove_leftovers(&folder)?;
            if removed > 0 {
                let folder = self.objects.shown(&folder);
                tracing::warn!(folder, removed, "copies of archives that a crash left were removed");
            }
        }
        Ok(())
    }

    /// The same where they are in nobody's way: an account may be allowed to make archives and to remove none.
    pub(super) fn try_to_remove_leftovers(&self) {
        if let Err(error) = self.remove_leftovers() {
            tracing::warn!(%error, "copies of archives that a crash left could not be removed");
        }
    }
}
