//! The names of the ledger's threads, as the system shows them.

use std::thread;

/// Returns the builder of a thread with the name `bitacora-…`.
pub(crate) fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(format!("bitacora-{name}"))
}
