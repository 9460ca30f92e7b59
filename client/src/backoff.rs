//! The pauses before a retry.

use std::time::Duration;

use crate::limits::{FIRST_PAUSE, MAX_PAUSE, MAX_RETRIES};

/// Growing pauses: each is twice the one before, up to a limit, and never shorter than the service asks for.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
    left: u32,
}

impl Default for Backoff {
    /// Returns ten retries, the first of them after 100 ms.
    fn default() -> Self {
        Self::with_retries(MAX_RETRIES)
    }
}

impl Backoff {
    /// Returns pauses for this number of retries.
    #[must_use]
    pub fn with_retries(retries: u32) -> Self {
        Self { next: FIRST_PAUSE, left: retries }
    }

    /// Returns pauses for retries without an end.
    #[must_use]
    pub fn endless() -> Self {
        Self::with_retries(u32::MAX)
    }

    /// Returns the pause before the next retry; `None` when no retry is left.
    pub fn pause(&mut self, asked: Option<Duration>) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let pause = asked.unwrap_or_default().max(self.next).min(MAX_PAUSE);
        self.next = (self.next * 2).min(MAX_PAUSE);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit_and_end() {
        let mut backoff = Backoff::with_retries(8);
        let pauses: Vec<u128> =
            std::iter::from_fn(|| backoff.pause(None)).map(|one| one.as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        let mut backoff = Backoff::endless();
        assert_eq!(backoff.pause(Some(Duration::from_secs(2))), Some(Duration::from_secs(2)));
        assert_eq!(backoff.pause(Some(Duration::from_secs(60))), Some(MAX_PAUSE));
    }
}
