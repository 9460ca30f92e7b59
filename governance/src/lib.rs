//! What agents may do: a pure function from recorded events to decisions.
//!
//! What this crate may not know: files, clocks, threads, randomness, networks, the ledger itself. Time is the time of a frame
//! and comes with each event; numbers are integers. The same events in the same order give the same state, byte for byte, on
//! any machine and in any year.

#![deny(clippy::float_arithmetic)]

mod examination;
mod journal;
mod reactor;

pub use examination::Examination;
pub use reactor::{Observed, Reactor, ReactorRefusal, ReactorState, RefusalCode, StateCopy};
