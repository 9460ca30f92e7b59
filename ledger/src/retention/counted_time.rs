//! The time up to which ages of events are counted.

use std::sync::OnceLock;
use std::time::Duration;

use bitacora_formats::Micros;

use crate::host::clock::Clock;
use crate::limits::{MAX_COUNTED_STANDSTILL, STANDSTILL_DOUBT};

/// The times of the ledger's opening for writing, as the clock showed them.
#[derive(Debug, Default)]
pub(crate) struct OpeningTime(OnceLock<OpeningReading>);

#[derive(Debug)]
struct OpeningReading {
    /// The time of the last event before.
    last: Micros,
    /// The time that the clock showed.
    shown: Micros,
    /// By [`Clock::passed`].
    passed: Duration,
}

/// The time up to which ages are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedTime {
    pub(crate) until: Micros,
    /// Set where that is the last event before the opening, because the clock showed a much later time then.
    pub(crate) is_held_back: bool,
}

impl OpeningTime {
    /// Begins with the opening, before anything is recorded.
    pub(crate) fn begin(&self, last: Micros, clock: &dyn Clock) {
        let reading = OpeningReading { last, shown: clock.now(), passed: clock.passed() };
        let _is_first = self.0.set(reading).is_ok();
    }

    /// Returns the time up to which ages are counted. A clock that is ahead looks like a ledger that was closed for long, and what expires
    /// by it is gone for good: so a day passes in which a person can see it.
    /// Events have times of the ledger, which are ahead of the clock by `offset` microseconds.
    pub(crate) fn counted(&self, newest: Micros, clock: &dyn Clock, offset: u64) -> CountedTime {
        let until = newest.min(Micros(clock.now().0.saturating_add(offset)));
        let doubted = self.0.get().filter(|opening| {
            let still = Duration::from_micros(opening.shown.0.saturating_sub(opening.last.0));
            let since = clock.passed().saturating_sub(opening.passed);
            still > MAX_COUNTED_STANDSTILL && since < STANDSTILL_DOUBT
        });
        match doubted {
            Some(opening) => {
                let last = Micros(opening.last.0.saturating_add(offset));
                CountedTime { until: until.min(last), is_held_back: true }
            }
            None => CountedTime { until, is_held_back: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[derive(Debug, Default)]
    struct SetClock(Mutex<(Duration, Duration)>);

    impl SetClock {
        fn set(&self, now: Duration, passed: Duration) {
            *self.0.lock().unwrap() = (now, passed);
        }
    }

    impl Clock for SetClock {
        fn now(&self) -> Micros {
            micros(self.0.lock().unwrap().0)
        }

        fn passed(&self) -> Duration {
            self.0.lock().unwrap().1
        }
    }

    fn micros(time: Duration) -> Micros {
        Micros(u64::try_from(time.as_micros()).unwrap())
    }

    #[test]
    fn a_week_without_events_before_an_opening_is_doubted_for_a_day() {
        let clock = SetClock::default();
        let counted = |last: u32, opened: u32, passed: Duration| {
            let opening = OpeningTime::default();
            clock.set(DAY * opened, DAY);
            opening.begin(micros(DAY * last), &clock);
            clock.set(DAY * opened + passed, DAY + passed);
            let CountedTime { until, is_held_back } =
                opening.counted(micros(DAY * opened + passed), &clock, 0);
            (Duration::from_micros(until.0), is_held_back)
        };
        let hour = DAY / 24;
        assert_eq!(counted(100, 107, hour), (DAY * 107 + hour, false));
        assert_eq!(counted(100, 108, hour), (DAY * 100, true));
        assert_eq!(counted(100, 1_100, hour * 23), (DAY * 100, true));
        assert_eq!(counted(100, 1_100, DAY), (DAY * 1_101, false));
    }

    #[test]
    fn a_clock_behind_the_newest_event_counts() {
        let clock = SetClock::default();
        clock.set(DAY * 5, DAY);
        let counted = OpeningTime::default().counted(micros(DAY * 9), &clock, 0);
        assert_eq!(counted, CountedTime { until: micros(DAY * 5), is_held_back: false });
        // Once a correction of the clock was accepted, the ledger's time is ahead of it.
        let offset = micros(DAY * 3).0;
        let counted = OpeningTime::default().counted(micros(DAY * 9), &clock, offset);
        assert_eq!(counted, CountedTime { until: micros(DAY * 8), is_held_back: false });
    }
}
