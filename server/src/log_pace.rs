//! Paced messages: a failure that recurs is told at once, and then now and again with its number.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The pace at which one kind of failure is told.
pub(crate) struct LogPace {
    every: Duration,
    state: Mutex<LogPaceState>,
}

struct LogPaceState {
    untold: u64,
    at: Option<Instant>,
}

impl LogPace {
    pub(crate) const fn new(every: Duration) -> Self {
        Self { every, state: Mutex::new(LogPaceState { untold: 0, at: None }) }
    }

    /// It has happened once more. `Some` where that is told now: how often it has happened since it was told last.
    pub(crate) fn tells(&self, now: Instant) -> Option<u64> {
        let mut told = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        told.untold += 1;
        if told.at.is_some_and(|at| now.duration_since(at) < self.every) {
            return None;
        }
        told.at = Some(now);
        Some(std::mem::take(&mut told.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_line_a_minute_with_its_number() {
        let pace = LogPace::new(Duration::from_secs(60));
        let began = Instant::now();
        // Twenty a second for five minutes, as a loop does that finds no descriptor.
        let told: Vec<u64> =
            (0..6_000).filter_map(|tick| pace.tells(began + tick * Duration::from_millis(50))).collect();
        assert_eq!(told, [1, 1_200, 1_200, 1_200, 1_200]);
        assert_eq!(pace.tells(began + Duration::from_secs(3_600)), Some(1_200));
    }
}
