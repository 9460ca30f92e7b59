//! Latencies of many answers, gathered from many callers at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::results::{Figure, Measurement};

/// The number of steps in each power of two of nanoseconds: no time is off by more than 1 in 128.
const STEPS: u64 = 1 << STEP_BITS;
const STEP_BITS: u32 = 7;
/// The number of steps for all 64-bit times.
const BUCKETS: usize = (64 - STEP_BITS as usize + 1) << STEP_BITS;

/// The points of the drawn distribution, in hundred-thousandths of all answers.
const CURVE: [u64; 16] = [
    0, 10_000, 25_000, 50_000, 75_000, 90_000, 95_000, 97_500, 99_000, 99_500, 99_750, 99_900, 99_950,
    99_990, 99_999, 100_000,
];
const WHOLE: u64 = 100_000;

/// Counts of times by size. Adding one takes a few nanoseconds, and never waits.
pub(crate) struct Latencies {
    buckets: Vec<AtomicU64>,
    longest_ns: AtomicU64,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        let buckets = std::iter::repeat_with(AtomicU64::default).take(BUCKETS).collect();
        Self { buckets, longest_ns: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.longest_ns.fetch_max(ns, Ordering::Relaxed);
        if let Some(bucket) = self.buckets.get(bucket_of(ns)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }

    /// Adds the latencies' figures to a measurement.
    pub(crate) fn describe(&self, mut measurement: Measurement) -> Measurement {
        let count = self.count();
        let at = |share: u64| self.microseconds_at(share, count);
        measurement.curve = CURVE.iter().map(|share| (share_of_one(*share), at(*share))).collect();
        let (p50, max) = (at(50_000), at(WHOLE));
        measurement
            .with(Figure::Answers, as_number(count))
            .with(Figure::P50Us, p50)
            .with(Figure::P99Us, at(99_000))
            .with(Figure::P999Us, at(99_900))
            .with(Figure::MaxUs, max)
            .with(Figure::MaxOverP50, if p50 > 0.0 { max / p50 } else { 0.0 })
    }

    /// Returns the time within which this share, in hundred-thousandths, of the answers came.
    fn microseconds_at(&self, share: u64, count: u64) -> f64 {
        let longest = self.longest_ns.load(Ordering::Relaxed);
        let wanted = (u128::from(count) * u128::from(share)).div_ceil(u128::from(WHOLE)).max(1);
        let mut seen = 0_u128;
        for (index, bucket) in self.buckets.iter().enumerate() {
            seen += u128::from(bucket.load(Ordering::Relaxed));
            if seen >= wanted {
                return microseconds(greatest_of(index).min(longest));
            }
        }
        microseconds(longest)
    }
}

/// Returns the bucket of a time. Times below `STEPS` have a bucket each; above, the bits after the highest one are the step.
fn bucket_of(ns: u64) -> usize {
    let bits = 64 - ns.leading_zeros();
    let power = bits.saturating_sub(STEP_BITS + 1);
    let step = ns >> power;
    usize::try_from(u64::from(power) * STEPS + step).unwrap_or(usize::MAX)
}

/// Returns the longest time that falls into a bucket.
fn greatest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let power = (bucket / STEPS).saturating_sub(1);
    let step = bucket - power * STEPS;
    u64::try_from(((u128::from(step) + 1) << power) - 1).unwrap_or(u64::MAX)
}

fn microseconds(ns: u64) -> f64 {
    // In tenths, so that a saved result is not longer than what it knows.
    (as_number(ns) / 100.0).round() / 10.0
}

fn share_of_one(share: u64) -> f64 {
    as_number(share) / as_number(WHOLE)
}

/// Converts a count to a figure for people: exact up to 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "a figure for people, whose digits past the 15th do not matter"
)]
pub(super) fn as_number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_falls_into_the_bucket_that_ends_at_or_just_after_it() {
        for ns in (0..2_000).chain([4_095, 4_096, 1 << 40, (1 << 40) + 1, u64::MAX - 1, u64::MAX]) {
            let bucket = bucket_of(ns);
            assert!(bucket < BUCKETS, "{ns}");
            let greatest = greatest_of(bucket);
            assert!(greatest >= ns && greatest - ns <= ns / STEPS, "{ns} in {bucket} up to {greatest}");
            assert_eq!(bucket_of(greatest), bucket, "{ns}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_times_that_were_added() {
        let latencies = Latencies::new();
        for us in 1..=1_000 {
            latencies.add(Duration::from_micros(us));
        }
        let described = latencies.describe(Measurement::new("test", "test"));
        let expected = [
            (Figure::P50Us, 500.0),
            (Figure::P99Us, 990.0),
            (Figure::P999Us, 999.0),
            (Figure::MaxUs, 1_000.0),
            (Figure::Answers, 1_000.0),
        ];
        for (figure, expected) in expected {
            let found = described.figures[&figure];
            assert!((expected..=expected * 1.01).contains(&found), "{figure:?}: {found} for {expected}");
        }
        assert!(described.curve.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1));
    }

    #[test]
    fn nothing_added_is_no_time() {
        let described = Latencies::new().describe(Measurement::new("test", "test"));
        assert!(described.figures.values().all(|value| *value == 0.0), "{described:?}");
    }
}
