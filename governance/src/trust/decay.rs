//! The decay of a score with time without observations.

use bitacora_vocabulary::Score;

/// Steps of the table within one half-life.
const STEPS: usize = 256;
/// Bits of a step that lie between two of them.
const BETWEEN_BITS: u32 = 24;

/// `0.5^(step / 256)` in units of 2^-32, for every step from none to a whole half-life; rounded to the nearest.
const TABLE: [u64; STEPS + 1] = table();

/// The factor of a score: `0.5^(age / half_life)`, in units of 2^-32.
///
/// It is exactly 1 at no age, and exactly `0.5^n` after `n` half-lives up to 32. Between the steps of a table of 256 a half-life it
/// is a straight line, at most one millionth above the true value. It never grows with age, and is 0 from 33 half-lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decay(u64);

impl Decay {
    /// Nothing is lost.
    pub const NONE: Self = Self(1 << 32);

    /// Returns the decay after this age, where half is left after `half_life`; both in the same unit. Without a half-life nothing
    /// is ever lost.
    #[must_use]
    pub fn after(age: u64, half_life: u64) -> Self {
        if half_life == 0 {
            return Self::NONE;
        }
        let (halvings, rest) = (age / half_life, age % half_life);
        if halvings > 32 {
            return Self(0);
        }
        // Less than 2^32, as the rest is less than the half-life.
        let part = u64::try_from((u128::from(rest) << 32) / u128::from(half_life)).unwrap_or(u64::MAX);
        let step = usize::try_from(part >> BETWEEN_BITS).unwrap_or(STEPS);
        let between = part & ((1 << BETWEEN_BITS) - 1);
        let at = TABLE.get(step).copied().unwrap_or(0);
        let next = TABLE.get(step + 1).copied().unwrap_or(at);
        let left = at - (((at - next) * between) >> BETWEEN_BITS);
        Self(left >> halvings)
    }

    /// Returns this score after the decay, rounded half up.
    #[must_use]
    pub fn of(self, score: Score) -> Score {
        Score::clamped((u64::from(score.ten_thousandths()) * self.0 + (1 << 31)) >> 32)
    }
}

/// Computed by the compiler, in integers alone: the 256th root of one half by eight square roots, then its powers.
#[expect(clippy::indexing_slicing, reason = "a wrong index is an error of the compiler")]
#[expect(clippy::cast_possible_truncation, reason = "at most 2^32 once shifted")]
const fn table() -> [u64; STEPS + 1] {
    // In units of 2^-63, so that a product of two fits.
    let mut root: u128 = 1 << 62;
    let mut halved = STEPS;
    while halved > 1 {
        root = (root << 63).isqrt();
        halved /= 2;
    }
    let mut table = [0; STEPS + 1];
    let mut power: u128 = 1 << 63;
    let mut step = 0;
    while step <= STEPS {
        table[step] = ((power + (1 << 30)) >> 31) as u64;
        power = (power * root + (1 << 62)) >> 63;
        step += 1;
    }
    table
}

#[cfg(test)]
mod tests;
