//! New dimensions of trust, by the agent whose calls began them: each may begin so many a day.

use bitacora_formats::Micros;
use serde::{Deserialize, Serialize};

use crate::limits::MAX_NEW_DIMENSIONS_OF_AGENT;
use crate::undo::cow_cell::CowCell;
use crate::undo::per_agent_quota::PerAgentQuota;

/// Microseconds of a UTC day.
pub(crate) const DAY: u64 = 24 * 3_600 * 1_000_000;

/// The dimensions begun on the last day on which there were any.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NewDimensions {
    pub(crate) day: CowCell<u64>,
    pub(crate) begun: PerAgentQuota,
}

impl NewDimensions {
    /// Returns `true` if this agent has begun all that it may on the day of this time.
    pub(crate) fn is_full(&self, agent: Option<&str>, time: Micros) -> bool {
        *self.day.get() == day_of(time) && self.begun.held(agent) >= MAX_NEW_DIMENSIONS_OF_AGENT
    }

    pub(crate) fn apply_begun(&mut self, agent: Option<&str>, time: Micros) {
        let day = day_of(time);
        if *self.day.get() != day {
            self.day.change(|last| *last = day);
            self.begun.clear();
        }
        self.begun.add(agent);
    }

    pub(crate) fn pause(&mut self) {
        self.day.pause();
        self.begun.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.day.resume();
        self.begun.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.day.keep();
        self.begun.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.day.discard();
        self.begun.discard();
    }
}

/// Returns the UTC day of a time, from 1970 on.
pub(crate) const fn day_of(time: Micros) -> u64 {
    time.0 / DAY
}
