//! The room on the disk of the data folder.

use crate::ledgers::Ledgers;

impl Ledgers {
    /// Returns the bytes that are free on the disk of the data folder, where the system tells it.
    pub(crate) fn free_disk_bytes(&self) -> Option<u64> {
        self.config.environment.disk.free_bytes(&self.config.data)
    }
}
