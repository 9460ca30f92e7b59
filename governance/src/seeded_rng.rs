//! Numbers from a seed, for the tests of this crate.

/// SplitMix64: the same numbers for the same seed, everywhere.
pub(crate) struct SeededRng(pub(crate) u64);

impl SeededRng {
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound`, which is left out.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// Returns the same for small numbers.
    pub(crate) fn small(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(u64::from(bound))).unwrap()
    }

    /// Returns `true` with these odds out of a hundred.
    pub(crate) fn percent(&mut self, odds: u64) -> bool {
        self.below(100) < odds
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}
