//! A watch that compares the wall clock with the monotonic one, to notice steps.

use std::time::Duration;

use bitacora_formats::Micros;

use crate::host::clock::Clock;
use crate::limits::MAX_CLOCK_JUMP;

/// A clock that does not show what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockJump {
    /// The time that the clock should show.
    pub(crate) from: Micros,
    /// The time that it shows.
    pub(crate) to: Micros,
}

/// Compares what the wall clock shows with what has passed since it was last believed. Many small steps in one direction add up to
/// a jump as well.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    /// The time that the wall clock showed then.
    shown: Micros,
    /// By [`Clock::passed`].
    passed: Duration,
}

impl ClockWatch {
    /// Begins at an opening. A clock far behind what it showed at the last event counts as one that jumped back. One that is far ahead
    /// looks like a ledger that was closed for long.
    pub(crate) fn new(clock: &dyn Clock, last: Micros) -> Self {
        let (shown, passed) = (clock.now(), clock.passed());
        Self { shown: if shown < last && is_jump(shown, last) { last } else { shown }, passed }
    }

    /// Returns a jump since the clock was last believed. The time that the clock shows now is believed from here on.
    pub(crate) fn look(&mut self, clock: &dyn Clock) -> Option<ClockJump> {
        self.compare(clock)?;
        // The machine may have slept between the two readings of the first look.
        let jump = self.compare(clock)?;
        (self.shown, self.passed) = (jump.to, clock.passed());
        Some(jump)
    }

    fn compare(&self, clock: &dyn Clock) -> Option<ClockJump> {
        let (to, passed) = (clock.now(), clock.passed().saturating_sub(self.passed));
        let passed = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
        let from = Micros(self.shown.0.saturating_add(passed));
        is_jump(from, to).then_some(ClockJump { from, to })
    }
}

fn is_jump(one: Micros, other: Micros) -> bool {
    u128::from(one.0.abs_diff(other.0)) > MAX_CLOCK_JUMP.as_micros()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const MINUTE: u64 = 60_000_000;
    const NOON: u64 = 1_795_305_600_000_000;

    #[derive(Debug, Default)]
    struct TestClock {
        shown: AtomicU64,
        passed: AtomicU64,
    }

    impl TestClock {
        fn at(shown: u64) -> Self {
            Self { shown: shown.into(), passed: 0.into() }
        }

        fn pass(&self, shown: i64, passed: u64) {
            self.shown.fetch_add(shown.cast_unsigned(), Ordering::SeqCst);
            self.passed.fetch_add(passed, Ordering::SeqCst);
        }
    }

    impl Clock for TestClock {
        fn now(&self) -> Micros {
            Micros(self.shown.load(Ordering::SeqCst))
        }

        fn passed(&self) -> Duration {
            Duration::from_micros(self.passed.load(Ordering::SeqCst))
        }
    }

    #[test]
    fn more_than_ten_minutes_either_way_is_a_jump_once() {
        for (moved, is_jump) in [(9, false), (10, false), (11, true), (-9, false), (-10, false), (-11, true)]
        {
            let clock = TestClock::at(NOON);
            let mut watch = ClockWatch::new(&clock, Micros(NOON));
            clock.pass(moved * 60_000_000 + 5_000_000, 5_000_000);
            let from = Micros(NOON + 5_000_000);
            let jump = watch.look(&clock);
            assert_eq!(jump, is_jump.then(|| ClockJump { from, to: clock.now() }), "{moved}");
            assert_eq!(watch.look(&clock), None, "it was said, and is believed from there on");
        }
    }

    #[test]
    fn what_adds_up_to_more_is_a_jump_too_and_long_waits_are_none() {
        let clock = TestClock::at(NOON);
        let mut watch = ClockWatch::new(&clock, Micros(NOON));
        let day = 24 * 60 * MINUTE;
        clock.pass(day.cast_signed(), day);
        assert_eq!(watch.look(&clock), None);
        clock.pass(6 * 60_000_000, 0);
        assert_eq!(watch.look(&clock), None);
        clock.pass(6 * 60_000_000, 0);
        assert!(watch.look(&clock).is_some());
    }

    #[test]
    fn an_opening_tells_a_clock_behind_the_log_and_not_one_ahead() {
        for (last, is_jump) in [
            (NOON + 9 * MINUTE, false),
            (NOON + 11 * MINUTE, true),
            (NOON - 11 * MINUTE, false),
            (0, false),
            (u64::MAX, true),
        ] {
            let clock = TestClock::at(NOON);
            let mut watch = ClockWatch::new(&clock, Micros(last));
            let jump = ClockJump { from: Micros(last), to: Micros(NOON) };
            assert_eq!(watch.look(&clock), is_jump.then_some(jump), "{last}");
        }
    }
}
