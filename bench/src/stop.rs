//! The signal that stops a benchmark after an interruption.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::error::BenchError;

/// The interval at which a sleeping thread checks the signal.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A signal shared by the listener for interruptions and all workers; once set, it stays.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Sets it.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps until `then`, or until the signal is set.
    pub(super) fn wait_until(&self, then: Instant) {
        while !self.is_set() && Instant::now() < then {
            std::thread::sleep(LOOK_EVERY.min(then.saturating_duration_since(Instant::now())));
        }
    }

    pub(crate) fn check(&self) -> Result<(), BenchError> {
        if self.is_set() { Err(BenchError::Stopped) } else { Ok(()) }
    }
}
