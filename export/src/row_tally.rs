//! The counts over the rows of an export.

use serde::{Deserialize, Serialize};

use crate::line_batch::StoredEventLine;

/// Gaps that a manifest names; the others are counted.
pub const MAX_GAPS: usize = 1_000;

/// Positions that were read past without an event, in an export of all events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionGap {
    /// The first missing position.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

/// The counts over the rows so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowTally {
    /// Rows in the file.
    pub rows: u64,
    /// The position of the first row.
    pub first: Option<u64>,
    /// The position of the last row.
    pub last: Option<u64>,
    /// The last position that was looked at.
    pub reached: u64,
    /// Rows whose data was erased.
    pub erased: u64,
    /// Rows whose data cannot be read.
    pub unreadable: u64,
    /// Gaps between rows; empty where a selection leaves rows out.
    pub gaps: Vec<PositionGap>,
    /// Gaps that [`Self::gaps`] has no room for.
    pub more_gaps: u64,
}

impl RowTally {
    /// Counts an event that was looked at; with `is_dense`, each position is expected.
    pub(crate) fn look(&mut self, event: &StoredEventLine<'_>, is_dense: bool) {
        let expected = self.reached.saturating_add(1);
        if is_dense && event.position > expected {
            if self.gaps.len() < MAX_GAPS {
                self.gaps.push(PositionGap { first: expected, last: event.position - 1 });
            } else {
                self.more_gaps += 1;
            }
        }
        self.reached = event.position;
    }

    /// Counts a row of the file.
    pub(crate) fn add(&mut self, event: &StoredEventLine<'_>) {
        self.rows += 1;
        self.first.get_or_insert(event.position);
        self.last = Some(event.position);
        self.erased += u64::from(event.is_erased);
        self.unreadable += u64::from(event.is_unreadable);
    }
}
