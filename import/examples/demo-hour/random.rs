//! A random generator whose choices a seed repeats.

use std::fmt::Write;

use bitacora_testkit::SeededRng;

/// The choices of an agent, the same for the same seed.
pub(super) struct DemoRandom(SeededRng);

impl DemoRandom {
    pub(super) fn new(seed: u64) -> Self {
        Self(SeededRng::new(seed))
    }

    /// Returns a generator whose choices do not depend on how many this one makes later.
    pub(super) fn fork(&mut self) -> Self {
        Self::new(self.number())
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0.number()
    }

    /// Returns a number of `low..=high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.number() % (high.saturating_sub(low) + 1)
    }

    /// Returns a number mostly near `typical`, at times many times as much, as durations and lengths are.
    pub(super) fn long_tailed(&mut self, typical: u64) -> u64 {
        let times = [1, 1, 1, 2, 2, 3, 5, 12];
        let factor = times.get(self.below(times.len())).copied().unwrap_or(1);
        typical / 2 + self.between(0, typical.saturating_mul(factor))
    }

    /// Returns `true` this many times in a thousand.
    pub(super) fn chance(&mut self, per_mille: u64) -> bool {
        self.number() % 1_000 < per_mille
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end.max(1) as u64).unwrap_or_default()
    }

    pub(super) fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from.get(self.below(from.len())).copied().unwrap_or_default()
    }

    pub(super) fn hex(&mut self, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            let _written = write!(text, "{:016x}", self.number()).is_ok();
        }
        text.truncate(digits);
        text
    }

    /// Returns letters and digits, as services use them for their ids.
    pub(super) fn letters(&mut self, count: usize) -> String {
        const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let letter = |random: &mut Self| ALPHABET.get(random.below(32)).copied().map_or('A', char::from);
        (0..count).map(|_| letter(self)).collect()
    }

    pub(super) fn uuid(&mut self) -> String {
        let digits = self.hex(32);
        let part = |range| digits.get(range).unwrap_or_default();
        format!("{}-{}-4{}-a{}-{}", part(0..8), part(8..12), part(13..16), part(17..20), part(20..32))
    }
}
