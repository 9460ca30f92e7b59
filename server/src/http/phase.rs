//! The phase of the service's shutdown.

/// The phase of the service's shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    /// Requests in flight are finished, no others begun.
    Draining,
    /// All that still goes on is cut off.
    Cut,
}
