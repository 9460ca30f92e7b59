//! The pace of background work: it rests between slices, so that callers have the cores and the disk.

use std::io;
use std::sync::Condvar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::host::lock_order::OrderedMutex;
use crate::limits::BACKGROUND_REST;

/// Called after each slice of a longer work; an error ends that.
pub(crate) type SliceRest<'r> = &'r dyn Fn() -> io::Result<()>;

/// The pace of background work. It rests after each slice of [`FILL_SLICE_BYTES`], so that disk and core are left to the writer, unless
/// the writer waits for it.
///
/// [`FILL_SLICE_BYTES`]: crate::limits::FILL_SLICE_BYTES
#[derive(Debug, Default)]
pub(crate) struct BackgroundPace {
    hurried: AtomicBool,
    stopping: AtomicBool,
    /// The lock of those who sleep until they are stopped.
    sleeping: OrderedMutex<()>,
    stopped: Condvar,
}

impl BackgroundPace {
    pub(crate) fn hurry(&self, hurried: bool) {
        self.hurried.store(hurried, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.hurry(true);
        // Under the lock: a sleeper has either seen it or waits already.
        let _held = self.sleeping.lock();
        self.stopped.notify_all();
    }

    /// Rests after a slice of work.
    pub(crate) fn rest(&self) {
        if !self.hurried.load(Ordering::Relaxed) {
            std::thread::sleep(BACKGROUND_REST);
        }
    }

    /// Sleeps that long, whoever waits for work.
    ///
    /// # Errors
    /// `Interrupted` where the work is to be left; at once.
    pub(crate) fn sleep_or_stop(&self, time: Duration) -> io::Result<()> {
        let is_stopping = || self.stopping.load(Ordering::Relaxed);
        let held = self.sleeping.lock();
        let _slept = held.wait_timeout_while(&self.stopped, time, |()| !is_stopping());
        if is_stopping() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    /// As [`Self::rest`], for work that can be left undone.
    ///
    /// # Errors
    /// `Interrupted` where it is to be left.
    pub(crate) fn rest_or_stop(&self) -> io::Result<()> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.rest();
        Ok(())
    }
}
