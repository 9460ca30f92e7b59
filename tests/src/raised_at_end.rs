//! A flag that is raised when its scope ends, also by a panic.
//! The threads beside a test end with it, so that a failure is told instead of waited for.

use std::sync::atomic::{AtomicBool, Ordering};

/// Raises the flag when dropped.
#[derive(Debug)]
#[must_use = "a flag is raised at the end of the scope that holds this"]
pub struct RaisedAtEnd<'a>(&'a AtomicBool);

impl<'a> RaisedAtEnd<'a> {
    /// Of this flag.
    pub fn of(flag: &'a AtomicBool) -> Self {
        Self(flag)
    }
}

impl Drop for RaisedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
