//! The counts over the rows of an export.

use serde::{Deserialize, Serialize};

use crate::row_encoder::EncodedEvent;

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
    /// Rows whose data expired under a retention policy.
    pub expired: u64,
    /// Rows whose data cannot be read.
    pub unreadable: u64,
    /// Gaps between rows; empty where a selection leaves rows out.
    pub gaps: Vec<PositionGap>,
    /// Gaps that [`Self::gaps`] has no room for.
    pub more_gaps: u64,
}

impl RowTally {
    /// Counts an event that was looked at; with `is_dense`, each position is expected.
    pub(crate) fn count(&mut self, event: &EncodedEvent, is_dense: bool) {
        let expected = self.reached.saturating_add(1);
        if is_dense && event.position > expected {
            if self.gaps.len() < MAX_GAPS {
                self.gaps.push(PositionGap { first: expected, last: event.position - 1 });
            } else {
                self.more_gaps += 1;
            }
        }
        self.reached = event.position;
        if event.is_row {
            self.add(event);
        }
    }

    /// Counts a row of the file.
    fn add(&mut self, event: &EncodedEvent) {
        self.rows += 1;
        self.first.get_or_insert(event.position);
        self.last = Some(event.position);
        self.erased += u64::from(event.flags.is_erased);
        self.expired += u64::from(event.flags.is_expired);
        self.unreadable += u64::from(event.flags.is_unreadable);
    }

    /// Returns the reason why no export behind `after` with this end has these counts.
    pub(crate) fn fault(&self, (after, until): (u64, u64), is_dense: bool) -> Option<&'static str> {
        let Some(looked) = self.reached.checked_sub(after).filter(|_| self.reached <= until) else {
            return Some("the position that it reached is not in its range");
        };
        let span = match (self.first, self.last) {
            (None, None) if self.rows == 0 => 0,
            (Some(first), Some(last)) if after < first && first <= last && last <= self.reached => {
                last - first + 1
            }
            _ => return Some("its first and last row are not in its range"),
        };
        let without_data = [self.erased, self.expired, self.unreadable];
        if self.rows > span || without_data.into_iter().any(|count| count > self.rows) {
            return Some("it counts more rows than it has positions");
        }
        if self.gaps.len() > MAX_GAPS || self.more_gaps > looked {
            return Some("it counts more gaps than it has positions");
        }
        // Every position of an export of all events is a row or in a gap, and a row ends it.
        let missing = self.gaps.iter().try_fold(0_u64, |sum, gap| {
            let positions = gap.last.checked_sub(gap.first)?.checked_add(1)?;
            sum.checked_add(positions)
        });
        let counted = missing.and_then(|missing| missing.checked_add(self.rows));
        let is_whole = if self.more_gaps == 0 { counted == Some(looked) } else { counted < Some(looked) };
        let ends_in_a_row = self.last.unwrap_or(after) == self.reached;
        (is_dense && !(is_whole && ends_in_a_row)).then_some("its rows and gaps are not all positions")
    }
}
