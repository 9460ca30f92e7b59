//! The time up to which ages of events are counted.

use std::sync::OnceLock;
use std::time::Duration;

use bitacora_formats::{Epoch, Micros, Position};
use bitacora_governance::ClockTrust;

use crate::host::clock::Clock;

/// The time since the ledger was opened for writing, whatever its clock shows.
#[derive(Debug, Default)]
pub(crate) struct OpeningTime(OnceLock<(ThisOpening, Duration)>);

/// An opening for writing, as the process knows it: the log may not say it, for example because the disk was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThisOpening {
    pub(crate) epoch: Epoch,
    /// The position of the first event that comes behind it.
    pub(crate) next: Position,
    /// The time of the last event before it.
    pub(crate) end_before: Micros,
    /// Its own time, as its event has it.
    pub(crate) time: Micros,
}

impl OpeningTime {
    /// Begins with the opening.
    pub(crate) fn begin(&self, clock: &dyn Clock, opening: ThisOpening) {
        let _is_first = self.0.set((opening, clock.passed())).is_ok();
    }

    /// Returns the opening, and the time that passed since; `None` for a reader.
    pub(crate) fn passed(&self, clock: &dyn Clock) -> Option<(ThisOpening, Duration)> {
        let (opening, began) = self.0.get()?;
        Some((*opening, clock.passed().saturating_sub(*began)))
    }
}

/// The time up to which ages are counted, as the accepted clock shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedTime {
    pub(crate) until: Micros,
    /// The same without the doubt in a clock that may be ahead.
    pub(crate) by_clock: Micros,
}

impl CountedTime {
    /// The newest event has the time `newest`, or the clock shows less.
    pub(crate) fn by_clock(newest: Micros, trust: &ClockTrust, clock: &dyn Clock) -> Self {
        let by_clock = trust.shown_at(newest).min(clock.now());
        Self { until: by_clock, by_clock }
    }

    /// Counts at most up to the last event before a doubted standstill.
    pub(crate) fn doubted_from(self, doubted: Option<Micros>, trust: &ClockTrust) -> Self {
        let doubted = doubted.map_or(self.until, |time| trust.shown_at(time));
        Self { until: self.until.min(doubted), ..self }
    }

    pub(crate) fn is_held_back(self) -> bool {
        self.until < self.by_clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60 * 1_000_000;

    #[derive(Debug)]
    struct StandingClock(u64);

    impl Clock for StandingClock {
        fn now(&self) -> Micros {
            Micros(self.0)
        }

        fn passed(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    fn a_clock_behind_the_newest_event_counts() {
        let by_clock = |newest, clock| {
            CountedTime::by_clock(Micros(newest * DAY), &ClockTrust::default(), &StandingClock(clock * DAY))
        };
        assert_eq!(by_clock(9, 5).until, Micros(5 * DAY));
        assert_eq!(by_clock(5, 9).until, Micros(5 * DAY));
    }

    #[test]
    fn a_doubted_standstill_holds_it_back() {
        let trust = ClockTrust::default();
        let counted = CountedTime::by_clock(Micros(9), &trust, &StandingClock(9));
        assert!(!counted.is_held_back() && !counted.doubted_from(None, &trust).is_held_back());
        let doubted = counted.doubted_from(Some(Micros(4)), &trust);
        assert_eq!((doubted.until, doubted.is_held_back()), (Micros(4), true));
    }
}
