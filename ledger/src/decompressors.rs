//! The pool of decompressors that readers share.

use std::sync::{Mutex, PoisonError};

use bitacora_formats::Decompressor;

use crate::limits::MAX_IDLE_DECOMPRESSORS;

/// Decompressors that no reader uses now; each holds memory that is costly to set up.
#[derive(Default)]
pub(crate) struct DecompressorPool {
    idle: Mutex<Vec<Decompressor>>,
}

impl DecompressorPool {
    pub(crate) fn take(&self) -> Option<Decompressor> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(crate) fn put(&self, decompressor: Option<Decompressor>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_DECOMPRESSORS {
            idle.extend(decompressor);
        }
    }
}
