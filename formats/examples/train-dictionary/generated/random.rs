//! Repeatable randomness: one seed, one history.

use std::fmt::Write;

/// SplitMix64 (Steele, Lea, Flood 2014); good enough to choose words by, and the same everywhere.
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.number() % (high - low + 1)
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.number() % 100 < percent
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[usize::try_from(self.number() % from.len() as u64).unwrap()]
    }

    pub(crate) fn hex(&mut self, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            write!(text, "{:016x}", self.number()).unwrap();
        }
        text.truncate(digits);
        text
    }

    /// Letters and digits, as many services make their ids of.
    pub(crate) fn letters(&mut self, count: usize) -> String {
        const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        (0..count).map(|_| char::from(ALPHABET[usize::try_from(self.number() % 62).unwrap()])).collect()
    }

    pub(crate) fn uuid4(&mut self) -> String {
        let digits = self.hex(32);
        format!(
            "{}-{}-4{}-a{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[13..16],
            &digits[17..20],
            &digits[20..]
        )
    }

    pub(crate) fn uuid7(&mut self, time_ms: u64) -> String {
        let (time, rest) = (format!("{time_ms:012x}"), self.hex(18));
        format!("{}-{}-7{}-9{}-{}", &time[..8], &time[8..], &rest[..3], &rest[3..6], &rest[6..18])
    }
}
