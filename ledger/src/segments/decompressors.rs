//! The pool of decompressors that readers share.

use bitacora_formats::Decompressor;

use crate::host::lock_order::OrderedMutex;
use crate::limits::MAX_IDLE_DECOMPRESSORS;

/// Decompressors that no reader uses now; each holds memory that is costly to set up.
#[derive(Default)]
pub(crate) struct DecompressorPool {
    idle: OrderedMutex<Vec<Decompressor>>,
}

impl DecompressorPool {
    pub(crate) fn take(&self) -> Option<Decompressor> {
        self.idle.lock().pop()
    }

    pub(crate) fn put(&self, decompressor: Option<Decompressor>) {
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE_DECOMPRESSORS {
            idle.extend(decompressor);
        }
    }
}
