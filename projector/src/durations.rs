//! Durations in bounded memory: counts in fixed buckets, which give percentiles within a known error.
//!
//! Up to [`EXACT_MS`] milliseconds each has a bucket of its own. From there on each doubling is cut into [`SUB_BUCKETS`] of equal width,
//! as HdrHistogram does (Gil Tene, hdrhistogram.org). The buckets are the same everywhere, so that sums of two are exact, and counted
//! durations can be taken off again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Below this many milliseconds nothing is rounded.
const EXACT_MS: u64 = 2 * SUB_BUCKETS;
/// Buckets of a doubling.
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;
const SUB_BUCKET_BITS: u32 = 5;
/// Buckets there are: what a row of them has at most.
const MAX_BUCKETS: u64 = EXACT_MS + (u64::BITS - SUB_BUCKET_BITS - 1) as u64 * SUB_BUCKETS;

/// A told percentile is never less than the true one, and more by less than this share of it.
pub const PERCENTILE_ERROR: f64 = 1.0 / SUB_BUCKETS as f64;

const _: () = assert!(MAX_BUCKETS < u16::MAX as u64, "the number of a bucket fits two bytes");

/// Durations, counted by bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    counts: BTreeMap<u16, u64>,
}

impl Durations {
    /// Counts one of so many milliseconds.
    pub(crate) fn count(&mut self, ms: u64) {
        *self.counts.entry(bucket(ms)).or_default() += 1;
    }

    /// Takes one off that was counted.
    pub(crate) fn discount(&mut self, ms: u64) {
        let bucket = bucket(ms);
        let left = self.counts.get(&bucket).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            self.counts.remove(&bucket);
        } else {
            self.counts.insert(bucket, left);
        }
    }

    /// Counts all of the other ones too.
    pub(crate) fn add(&mut self, other: &Self) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
    }

    /// Returns the number of counted durations.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The least duration, in milliseconds, that so many of a hundred do not exceed, within [`PERCENTILE_ERROR`]; `None` of none.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        let total = self.total();
        let wanted = (u128::from(total) * u128::from(percent)).div_ceil(100).max(1);
        let mut below = 0;
        self.counts.iter().find_map(|(bucket, count)| {
            below += u128::from(*count);
            (below >= wanted).then(|| last_of(*bucket))
        })
    }

    /// Bytes that it holds beside itself, about.
    pub(crate) fn held(&self) -> usize {
        self.counts.len() * 2 * size_of::<(u16, u64)>()
    }
}

fn bucket(ms: u64) -> u16 {
    let number = if ms < EXACT_MS {
        ms
    } else {
        let shift = ms.ilog2() - SUB_BUCKET_BITS;
        // The rest of it lies between one and two times the buckets of a doubling.
        u64::from(shift) * SUB_BUCKETS + (ms >> shift)
    };
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// The longest duration of a bucket.
fn last_of(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < EXACT_MS {
        return bucket;
    }
    let shift = bucket / SUB_BUCKETS - 1;
    let first = (bucket - shift * SUB_BUCKETS) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use bitacora_testkit::SeededRng;

    use super::*;

    fn of(all: &[u64]) -> Durations {
        let mut durations = Durations::default();
        all.iter().for_each(|ms| durations.count(*ms));
        durations
    }

    /// The definition, on a list: the least value that so many of a hundred do not exceed.
    fn exact(all: &[u64], percent: u8) -> u64 {
        let mut sorted = all.to_vec();
        sorted.sort_unstable();
        let rank = (sorted.len() * usize::from(percent)).div_ceil(100).max(1);
        sorted[rank - 1]
    }

    #[test]
    fn every_duration_has_one_bucket_and_they_rise() {
        let mut before = None;
        for exponent in 0..64 {
            for ms in [(1_u64 << exponent) - 1, 1 << exponent, (1 << exponent) + 1, 3 << exponent >> 1] {
                let last = last_of(bucket(ms));
                assert!(last >= ms && bucket(last) == bucket(ms), "{ms}");
                assert!((last - ms) as f64 <= ms as f64 * PERCENTILE_ERROR, "{ms}: told as {last}");
            }
            assert!(before < Some(bucket(1 << exponent)));
            before = Some(bucket(1 << exponent));
        }
        assert_eq!(last_of(bucket(u64::MAX)), u64::MAX);
        assert!(u64::from(bucket(u64::MAX)) < MAX_BUCKETS);
        assert!((0..EXACT_MS).all(|ms| last_of(bucket(ms)) == ms));
    }

    #[test]
    fn percentiles_are_within_their_error_of_those_of_the_list() {
        let mut rng = SeededRng::new(7);
        for size in [1, 2, 19, 20, 21, 1_000] {
            let all: Vec<u64> =
                std::iter::repeat_with(|| rng.number() >> (33 + rng.below(31_u32))).take(size).collect();
            for percent in [0, 1, 50, 95, 100] {
                let (estimate, exact) = (of(&all).percentile(percent).unwrap(), exact(&all, percent));
                assert!(estimate >= exact, "{size}, p{percent}: {estimate} for {exact}");
                assert!((estimate - exact) as f64 <= exact as f64 * PERCENTILE_ERROR, "{size}, p{percent}");
            }
        }
        assert_eq!(Durations::default().percentile(50), None);
    }

    #[test]
    fn sums_are_exact_and_what_was_counted_is_taken_off_again() {
        let (some, more) = ([0, 1, 63, 64, 65, 1_000, u64::MAX], [5, 64, 1_000_000]);
        let mut sum = of(&some);
        sum.add(&of(&more));
        assert_eq!(sum, of(&[some.as_slice(), &more].concat()));
        more.iter().for_each(|ms| sum.discount(*ms));
        assert_eq!(sum, of(&some));
        some.iter().for_each(|ms| sum.discount(*ms));
        assert_eq!((&sum, sum.total()), (&Durations::default(), 0));
    }
}
