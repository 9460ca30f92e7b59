//! The openings that the log records, and how long the ledger has run since it stood still for long.
//!
//! A clock that is ahead at an opening looks like a ledger that was closed for long. What was recorded since proves only that the clock
//! showed so. So a standstill before an opening counts once the ledger has run for [`STANDSTILL_DOUBT`] since, in this opening or in
//! earlier ones, or once an operator has accepted the clock behind it. While it runs, the clock is compared with the time that passes.

use std::time::Duration;

use bitacora_formats::{Micros, Position};
use bitacora_vocabulary::{ClockAccepted, EventData, LedgerOpened};

use crate::limits::{MAX_COUNTED_STANDSTILL, STANDSTILL_DOUBT};
use crate::query::StoredEvent;

/// Time between two openings below which nothing of it counts as time that the ledger ran: it lets many restarts be passed over.
const MIN_COUNTED_RUN: Duration = Duration::from_secs(60 * 60);

/// The openings of a ledger for writing, since an operator accepted its clock the last time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecordedOpenings {
    /// In order: an opening and the next one, where at least [`MIN_COUNTED_RUN`] lies between them.
    runs: Vec<(Opening, Opening)>,
    last: Option<Opening>,
    /// Set where part of the log cannot be read: any standstill may lie there.
    may_be_others: bool,
}

/// An opening by its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) position: Position,
    pub(super) time: Micros,
}

impl RecordedOpenings {
    /// The types of the events that it is read from.
    pub(super) const KINDS: [&str; 2] = [LedgerOpened::KIND, ClockAccepted::KIND];

    /// Takes in the next event of these types.
    pub(super) fn take(&mut self, stored: &StoredEvent<'_>) {
        if stored.event.kind == ClockAccepted::KIND {
            // A person has looked at the clock: whatever lies before counts.
            self.runs.clear();
            self.may_be_others = false;
        } else if stored.event.kind == LedgerOpened::KIND {
            self.opened(Opening { position: stored.position, time: stored.time });
        }
    }

    fn opened(&mut self, next: Opening) {
        if let Some(last) = self.last.replace(next)
            && since(last.time, next.time) >= MIN_COUNTED_RUN
        {
            self.runs.push((last, next));
        }
    }

    /// Events from here on cannot be read up to the next one that is taken in.
    pub(super) fn pass_over(&mut self) {
        self.last = None;
        self.may_be_others = true;
    }

    /// Returns the time of the last event before the standstills that do not count yet: the first of them decides. `None` if there is none.
    /// This opening has lasted for `passed`; a reader goes by the time of the newest event. `end_before` gives the time of the last event
    /// before the opening with the event at a position.
    pub(super) fn doubted_from<E>(
        &self,
        (passed, newest): (Option<Duration>, Micros),
        mut end_before: impl FnMut(Position) -> Result<Micros, E>,
    ) -> Result<Option<Micros>, E> {
        let of_reader = || self.last.map_or(Duration::ZERO, |last| since(last.time, newest));
        let mut ran = passed.unwrap_or_else(of_reader);
        let mut doubted = None;
        for (before, opening) in self.runs.iter().rev() {
            if ran >= STANDSTILL_DOUBT {
                return Ok(doubted);
            }
            let end = end_before(opening.position)?;
            if since(end, opening.time) > MAX_COUNTED_STANDSTILL {
                doubted = Some(end);
            }
            ran = ran.saturating_add(since(before.time, end));
        }
        let is_unknown = self.may_be_others && ran < STANDSTILL_DOUBT;
        Ok(if is_unknown { Some(Micros(0)) } else { doubted })
    }
}

fn since(earlier: Micros, later: Micros) -> Duration {
    Duration::from_micros(later.0.saturating_sub(earlier.0))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const MINUTE: u64 = 60_000_000;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;

    /// Runs of a ledger, each with the times of its opening and its last event. Positions are twice the number of the run.
    #[derive(Default)]
    struct Runs {
        ends: Vec<Micros>,
        openings: RecordedOpenings,
    }

    impl Runs {
        fn run(&mut self, opened: u64, end: u64) {
            self.ends.push(Micros(end));
            let position = Position::new(2 * self.ends.len() as u64).unwrap();
            self.openings.opened(Opening { position, time: Micros(opened) });
        }

        fn doubted(&self, passed: u64) -> Option<u64> {
            let end_before = |position: Position| {
                let run = usize::try_from(position.get() / 2).unwrap();
                Ok::<_, Infallible>(*self.ends.get(run - 2).unwrap())
            };
            let now = (Some(Duration::from_micros(passed)), *self.ends.last().unwrap());
            let Ok(doubted) = self.openings.doubted_from(now, end_before);
            doubted.map(|time| time.0)
        }
    }

    #[test]
    fn a_standstill_counts_once_the_ledger_has_run_for_a_day() {
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        runs.run(107 * DAY, 107 * DAY);
        assert_eq!(runs.doubted(0), None, "a week");
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        runs.run(108 * DAY, 108 * DAY);
        for (passed, doubted) in [(0, Some(100 * DAY)), (DAY - 1, Some(100 * DAY)), (DAY, None)] {
            assert_eq!(runs.doubted(passed), doubted, "after {passed} microseconds");
        }
    }

    #[test]
    fn no_restart_lets_a_standstill_count() {
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        for minute in 0..3_000 {
            let opened = 400 * DAY + minute * MINUTE;
            runs.run(opened, opened + 30_000_000);
            assert_eq!(runs.doubted(MINUTE), Some(100 * DAY), "restart {minute}");
        }
        assert_eq!(runs.openings.runs.len(), 1, "short runs are passed over");
        // The clock goes ahead at restarts, by less than a week each time.
        for jump in 1..50 {
            let opened = 410 * DAY + jump * 6 * DAY;
            runs.run(opened, opened + MINUTE);
            assert_eq!(runs.doubted(MINUTE), Some(100 * DAY), "jump {jump}");
        }
    }

    #[test]
    fn time_that_the_ledger_ran_is_added_up_over_restarts() {
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        for quarter in 0..3 {
            let opened = 400 * DAY + quarter * DAY;
            runs.run(opened, opened + 8 * HOUR);
            assert_eq!(runs.doubted(HOUR), Some(100 * DAY));
        }
        runs.run(403 * DAY, 403 * DAY);
        assert_eq!(runs.doubted(0), None, "three times eight hours");
    }

    #[test]
    fn of_several_standstills_the_first_one_decides() {
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        runs.run(400 * DAY, 400 * DAY + HOUR);
        runs.run(700 * DAY, 700 * DAY + HOUR);
        assert_eq!(runs.doubted(HOUR), Some(100 * DAY));
        assert_eq!(
            runs.doubted(23 * HOUR),
            Some(400 * DAY + HOUR),
            "the ledger ran for a day since the first"
        );
        assert_eq!(runs.doubted(DAY), None);
    }

    #[test]
    fn any_standstill_may_lie_in_what_cannot_be_read() {
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        runs.openings.pass_over();
        runs.run(101 * DAY, 101 * DAY);
        assert_eq!((runs.doubted(HOUR), runs.doubted(DAY)), (Some(0), None));
    }
}
