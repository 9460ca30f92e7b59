//! Which rules this program decides by.

/// Stands with every decision. It counts up whenever the same history could give another decision or another state; the rules of
/// older versions stay callable.
pub const REACTOR_VERSION: u32 = 1;
