//! When whoever runs the measurement wants it to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::BenchError;

/// Shared by whoever hears an interruption and all who work; once set, it stays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self) -> Result<(), BenchError> {
        if self.is_set() { Err(BenchError::Stopped) } else { Ok(()) }
    }
}
