//! Many dimensions at once: the best, the worst, and sums.

use std::collections::BinaryHeap;

use bitacora_formats::Micros;
use bitacora_formats::vocabulary::{Dimension, TrustRules};

use crate::trust::TrustRecord;
use crate::trust_rules::{Assessment, assess};

/// The most dimensions that one ranking shows.
pub const MAX_RANKED: usize = 1_000;

/// Which end of a ranking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankedFrom {
    /// The highest scores, from the highest on.
    Top,
    /// The lowest scores, from the lowest on.
    Bottom,
}

/// A dimension in a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranked<'a> {
    /// Which.
    pub dimension: &'a Dimension,
    /// What it has shown.
    pub record: &'a TrustRecord,
    /// How far it is trusted.
    pub assessment: Assessment,
}

/// The first `limit` dimensions, [`MAX_RANKED`] at most, by score; those of equal score by the dimension, whichever end is asked for. Holds
/// no more than that many at a time.
#[must_use]
pub fn ranked<'a>(
    records: impl IntoIterator<Item = (&'a Dimension, &'a TrustRecord)>,
    rules: &TrustRules,
    at: Micros,
    from: RankedFrom,
    limit: usize,
) -> Vec<Ranked<'a>> {
    let limit = limit.min(MAX_RANKED);
    // The last in rank is the greatest, and leaves first.
    let mut first = BinaryHeap::with_capacity(limit + 1);
    for (dimension, record) in records {
        let assessment = assess(record, rules, at);
        let score = i32::from(assessment.score.ten_thousandths());
        let rank = if from == RankedFrom::Top { -score } else { score };
        first.push(Place { rank, ranked: Ranked { dimension, record, assessment } });
        if first.len() > limit {
            first.pop();
        }
    }
    first.into_sorted_vec().into_iter().map(|place| place.ranked).collect()
}

/// A dimension at its place: its key is the rank, then the dimension.
struct Place<'a> {
    rank: i32,
    ranked: Ranked<'a>,
}

impl<'a> Place<'a> {
    fn key(&self) -> (i32, &'a Dimension) {
        (self.rank, self.ranked.dimension)
    }
}

impl PartialEq for Place<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Place<'_> {}

impl PartialOrd for Place<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// What several dimensions have shown together: counts, and neither streak nor score nor standing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustSum {
    /// How many dimensions.
    pub dimensions: u64,
    /// Calls that went well.
    pub approvals: u64,
    /// Calls that a person rejected.
    pub rejections: u64,
    /// Calls that failed.
    pub failures: u64,
    /// The approvals that no person gave.
    pub auto_approvals: u64,
    /// When the last of them changed.
    pub last_updated: Option<Micros>,
}

impl<'a> FromIterator<&'a TrustRecord> for TrustSum {
    fn from_iter<I: IntoIterator<Item = &'a TrustRecord>>(records: I) -> Self {
        records.into_iter().fold(Self::default(), |sum, record| Self {
            dimensions: sum.dimensions.saturating_add(1),
            approvals: sum.approvals.saturating_add(record.approvals),
            rejections: sum.rejections.saturating_add(record.rejections),
            failures: sum.failures.saturating_add(record.failures),
            auto_approvals: sum.auto_approvals.saturating_add(record.auto_approvals),
            last_updated: sum.last_updated.max(record.last_updated),
        })
    }
}

#[cfg(test)]
mod tests;
