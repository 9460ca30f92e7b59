//! Rankings of dimensions: the best, and the worst.

use std::collections::BinaryHeap;

use bitacora_formats::Micros;
use bitacora_vocabulary::{Dimension, Score, TrustRules};

use crate::trust::record::TrustRecord;
use crate::trust::rules::{Assessment, assess};

/// The most dimensions that are ranked at once: a page, and one more by which it knows of the next.
pub const MAX_RANKED: usize = 1_001;

/// The end of a ranking that comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankedFrom {
    /// The highest scores, from the highest on.
    Top,
    /// The lowest scores, from the lowest on.
    Bottom,
}

/// A dimension in a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankedDimension<'a> {
    /// The dimension.
    pub dimension: &'a Dimension,
    /// Its record.
    pub record: &'a TrustRecord,
    /// Its assessment.
    pub assessment: Assessment,
}

/// The order of dimensions: by score, those of equal score by the dimension. The tie is broken the same way from both ends.
#[derive(Debug, Clone, Copy)]
pub struct TrustRanking<'a> {
    /// The numbers that scores are computed with.
    pub rules: &'a TrustRules,
    /// The time that they are of.
    pub at: Micros,
    /// The end that comes first.
    pub from: RankedFrom,
}

impl TrustRanking<'_> {
    /// Returns the first `limit` dimensions, [`MAX_RANKED`] at most, behind the place of one that is named. Holds no more than that
    /// many at a time.
    #[must_use]
    pub fn first<'a>(
        &self,
        records: impl IntoIterator<Item = (&'a Dimension, &'a TrustRecord)>,
        after: Option<(Score, &Dimension)>,
        limit: usize,
    ) -> Vec<RankedDimension<'a>> {
        let limit = limit.min(MAX_RANKED);
        let after = after.map(|(score, dimension)| (self.rank(score), dimension));
        // The last in rank is the greatest, and leaves first.
        let mut first = BinaryHeap::with_capacity(limit + 1);
        for (dimension, record) in records {
            let assessment = assess(record, self.rules, self.at);
            let rank = self.rank(assessment.score);
            if after.is_some_and(|after| (rank, dimension) <= after) {
                continue;
            }
            first.push(RankEntry { rank, ranked: RankedDimension { dimension, record, assessment } });
            if first.len() > limit {
                first.pop();
            }
        }
        first.into_sorted_vec().into_iter().map(|place| place.ranked).collect()
    }

    fn rank(&self, score: Score) -> i32 {
        let score = i32::from(score.ten_thousandths());
        if self.from == RankedFrom::Top { -score } else { score }
    }
}

/// A dimension at its place: its key is the rank, then the dimension.
struct RankEntry<'a> {
    rank: i32,
    ranked: RankedDimension<'a>,
}

impl<'a> RankEntry<'a> {
    fn key(&self) -> (i32, &'a Dimension) {
        (self.rank, self.ranked.dimension)
    }
}

impl PartialEq for RankEntry<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for RankEntry<'_> {}

impl PartialOrd for RankEntry<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RankEntry<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests;
