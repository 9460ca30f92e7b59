//! Programs that ran and ended with another exit code than 0.
//! A failing test says nothing of the tool that ran it, so neither trust nor the breaker counts such an end. An executor that
//! reports nothing else hides its failures: only a limited number in a row counts nowhere.

use bitacora_formats::Micros;
use bitacora_vocabulary::{Dimension, TrustObserved, TrustOutcome};
use serde::{Deserialize, Serialize};

use crate::limits::{DIMENSION_LIFE, MAX_DIMENSIONS};
use crate::undo::undo_map::UndoMap;

/// Ends with an exit code in one dimension, without a good outcome in between, that count nowhere. Each later one is an error, up to
/// the next good outcome. Of 173 such ends in 138 sessions of a coding agent at most seven came in a row.
pub const MAX_CHECKS_FAILED_IN_A_ROW: u32 = 20;

/// Ends with an exit code since the last good outcome of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailedChecksRow {
    length: u32,
    last: Micros,
}

/// The rows that no good outcome has ended, by dimension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ChecksFailed(UndoMap<Dimension, FailedChecksRow>);

impl ChecksFailed {
    pub(crate) fn contains(&self, dimension: &Dimension) -> bool {
        self.0.get(dimension).is_some()
    }

    /// Returns `true` if another end in this dimension still counts nowhere.
    pub(crate) fn has_room(&self, dimension: &Dimension) -> bool {
        match self.0.get(dimension) {
            Some(row) => row.length < MAX_CHECKS_FAILED_IN_A_ROW,
            None => self.0.len() < MAX_DIMENSIONS,
        }
    }

    /// Folds an outcome of this dimension.
    pub(crate) fn apply(&mut self, observed: &TrustObserved, time: Micros) {
        let dimension = &observed.dimension;
        match observed.outcome {
            TrustOutcome::ChecksFailed => {
                self.0.change_or(
                    dimension,
                    || FailedChecksRow { length: 0, last: time },
                    |row| {
                        row.length = row.length.saturating_add(1);
                        row.last = row.last.max(time);
                    },
                );
            }
            TrustOutcome::Approved | TrustOutcome::AutoApproved
                if observed.post_check_passed != Some(false) =>
            {
                self.end(dimension);
            }
            _ => {}
        }
    }

    /// Ends the row of a dimension.
    pub(crate) fn end(&mut self, dimension: &Dimension) {
        self.0.remove(dimension);
    }

    /// Lets go of rows that nothing was added to for as long as dimensions are stored.
    pub(crate) fn forget(&mut self, time: Micros) {
        let is_old = |row: &FailedChecksRow| row.last.0.saturating_add(DIMENSION_LIFE.0) <= time.0;
        let old: Vec<_> =
            self.0.iter().filter(|(_, row)| is_old(row)).map(|(dimension, _)| dimension.clone()).collect();
        old.iter().for_each(|dimension| self.0.remove(dimension));
    }

    pub(crate) fn pause(&mut self) {
        self.0.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.0.resume();
    }

    pub(crate) fn keep(&mut self) {
        self.0.keep();
    }

    pub(crate) fn discard(&mut self) {
        self.0.discard();
    }
}
