//! What agents may do: a pure function from recorded events to decisions.
//!
//! What this crate may not know: files, clocks, threads, randomness, networks, the ledger itself. Time is the time of a frame
//! and comes with each event; numbers are integers. The same events in the same order give the same state, byte for byte, on
//! any machine and in any year.

#![deny(clippy::float_arithmetic)]

mod breaker;
mod decay;
mod dimension;
mod examination;
mod journal;
mod reactor;
mod trust;
mod trust_ranking;
mod trust_rules;

pub use bitacora_formats::vocabulary::{Dimension, DimensionPart, Score, TrustRules, Verdict};
pub use breaker::{Breaker, BreakerEvent, Transition, Trial, WindowCounts, bad_outcome};
pub use decay::Decay;
pub use dimension::{DimensionFilter, dimension_key, dimension_of_key};
pub use examination::Examination;
pub use reactor::{Observed, Reactor, ReactorRefusal, ReactorState, RefusalCode, StateCopy};
pub use trust::{RECENT_OUTCOMES, RecentOutcomes, TrustRecord};
pub use trust_ranking::{MAX_RANKED, Ranked, RankedFrom, TrustSum, ranked};
pub use trust_rules::{Assessment, Standing, StandingReason, TrustInputs, assess, judge};
