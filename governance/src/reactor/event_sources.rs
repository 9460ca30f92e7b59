//! The sources of the events that the service itself records.

/// The source of the events that the reactor derives.
pub const REACTOR_SOURCE: &str = "urn:bitacora:reactor";
/// The source of the events that record ends by time.
pub const SCHEDULER_SOURCE: &str = "urn:bitacora:scheduler";
