//! Waiting times in bounded memory: a histogram whose buckets are within a sixteenth of the true time.

use std::collections::BTreeMap;

/// The leading bits of a time that tell its bucket, behind the first one.
const BUCKET_BITS: u32 = 4;

/// Waiting times, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WaitHistogram {
    /// By the longest time of each bucket, milliseconds: fewer than 1,000.
    counts: BTreeMap<u64, u64>,
    number: u64,
    longest_ms: u64,
}

impl WaitHistogram {
    pub(crate) fn add(&mut self, wait_ms: u64) {
        *self.counts.entry(longest_alike(wait_ms)).or_default() += 1;
        self.number += 1;
        self.longest_ms = self.longest_ms.max(wait_ms);
    }

    /// Returns the time that half of them did not exceed: at most 1/16 more than the true one, never less.
    pub(crate) fn median_ms(&self) -> Option<u64> {
        let mut seen = 0;
        let half = self.number.div_ceil(2);
        let reached = self.counts.iter().find(|(_, count)| {
            seen += **count;
            seen >= half
        });
        reached.map(|(longest, _)| (*longest).min(self.longest_ms))
    }

    pub(crate) fn longest_ms(&self) -> Option<u64> {
        Some(self.longest_ms).filter(|_| self.number > 0)
    }
}

/// Returns the longest time of the bucket of this one.
fn longest_alike(wait_ms: u64) -> u64 {
    let bits = u64::BITS - wait_ms.leading_zeros();
    let low = bits.saturating_sub(BUCKET_BITS + 1);
    wait_ms | ((1 << low) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_within_a_sixteenth() {
        for wait in (0..5_000).chain([86_400_000, u64::MAX - 1, u64::MAX]) {
            let longest = longest_alike(wait);
            assert!(longest >= wait && longest - wait <= wait / 16, "{wait} {longest}");
        }
    }

    #[test]
    fn the_median_of_waits_is_told_and_never_past_the_longest() {
        let mut waits = WaitHistogram::default();
        assert_eq!((waits.median_ms(), waits.longest_ms()), (None, None));
        waits.add(1_000_000);
        assert_eq!((waits.median_ms(), waits.longest_ms()), (Some(1_000_000), Some(1_000_000)));
        [1, 2, 3].into_iter().for_each(|wait| waits.add(wait));
        assert_eq!((waits.median_ms(), waits.longest_ms()), (Some(2), Some(1_000_000)));
    }
}
