//! The openings that the log records, and how long the ledger has run since it stood still for long.
//!
//! A clock that is ahead at an opening looks like a ledger that was closed for long. What was recorded since proves only that the clock
//! showed so. So a standstill before an opening counts once the ledger has run for [`STANDSTILL_DOUBT`] since, in this opening or in
//! earlier ones, or once an operator has accepted the clock behind it. While it runs, the clock is compared with the time that passes.
//!
//! An opening may be missing in the log, for example because the disk was full. The next one's epoch shows that. The process knows its own
//! opening without the log.

use std::time::Duration;

use bitacora_formats::{Data, Epoch, Micros, Position};
use bitacora_vocabulary::{ClockAccepted, EventData, LedgerOpened};

use super::counted_time::ThisOpening;
use crate::limits::{MAX_COUNTED_STANDSTILL, STANDSTILL_DOUBT};
use crate::query::StoredEvent;

/// Time between two openings below which nothing of it counts as time that the ledger ran: it lets many restarts be passed over.
const MIN_COUNTED_RUN: Duration = Duration::from_secs(60 * 60);

/// The openings of a ledger for writing, since an operator accepted its clock the last time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecordedOpenings {
    /// In order, where at least [`MIN_COUNTED_RUN`] lies between two openings.
    runs: Vec<RecordedRun>,
    last: Option<Opening>,
    /// The position and time of the last acceptance of the clock.
    accepted: Option<(Position, Micros)>,
    /// Set where part of the log cannot be read: any standstill may lie there.
    may_be_others: bool,
}

/// An opening by its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) position: Position,
    pub(super) time: Micros,
    /// `None` where the event does not say it in a known way.
    pub(super) epoch: Option<Epoch>,
}

/// The time from an opening to the next one that the log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordedRun {
    began: Micros,
    next: Opening,
    /// Set where the log may lack openings between the two: the standstill before one of those shows nowhere.
    has_unrecorded: bool,
}

impl RecordedRun {
    /// Returns the time of the last event before the standstill that the next opening ends, if it is doubted: `end` is the time of the last
    /// event before that opening.
    fn doubted_from(&self, end: Micros) -> Option<Micros> {
        let end = if self.has_unrecorded { self.began } else { end };
        (since(end, self.next.time) > MAX_COUNTED_STANDSTILL).then_some(end)
    }

    /// Returns the time that the ledger ran for certain.
    fn ran(&self, end: Micros) -> Duration {
        if self.has_unrecorded { Duration::ZERO } else { since(self.began, end) }
    }
}

impl RecordedOpenings {
    /// The types of the events that it is read from.
    pub(super) const KINDS: [&str; 2] = [LedgerOpened::KIND, ClockAccepted::KIND];

    /// Takes in the next event of these types.
    pub(super) fn take(&mut self, stored: &StoredEvent<'_>) {
        if stored.event.kind == ClockAccepted::KIND {
            self.accept(stored.position, stored.time);
        } else if stored.event.kind == LedgerOpened::KIND {
            let epoch = epoch_of(&stored.event.data);
            self.opened(Opening { position: stored.position, time: stored.time, epoch });
        }
    }

    /// A person has looked at the clock: whatever lies before counts.
    fn accept(&mut self, position: Position, time: Micros) {
        self.runs.clear();
        self.may_be_others = false;
        self.accepted = Some((position, time));
    }

    fn opened(&mut self, next: Opening) {
        let run = self.run_before(next);
        self.last = Some(next);
        self.runs.extend(run.filter(|run| since(run.began, next.time) >= MIN_COUNTED_RUN));
    }

    /// Returns the run from the last opening to this one.
    fn run_before(&self, next: Opening) -> Option<RecordedRun> {
        let last = self.last?;
        let has_unrecorded = last.epoch.and_then(Epoch::next).is_none_or(|epoch| Some(epoch) != next.epoch);
        // Of what was accepted nothing is doubted, whichever opening it was in.
        let accepted = self.accepted.filter(|(position, _)| has_unrecorded && *position > last.position);
        let began = accepted.map_or(last.time, |(_, time)| time);
        Some(RecordedRun { began, next, has_unrecorded })
    }

    /// Events from here on cannot be read up to the next one that is taken in.
    pub(super) fn pass_over(&mut self) {
        self.last = None;
        self.may_be_others = true;
    }

    /// Returns the time of the last event before the standstills that do not count yet: the first of them decides. `None` if there is none.
    /// `this` is the opening of this process and the time that passed since; a reader goes by the time of the newest event. `end_before`
    /// gives the time of the last event before the opening with the event at a position.
    pub(super) fn doubted_from<E>(
        &self,
        (this, newest): (Option<(ThisOpening, Duration)>, Micros),
        mut end_before: impl FnMut(Position) -> Result<Micros, E>,
    ) -> Result<Option<Micros>, E> {
        let of_reader = || self.last.map_or(Duration::ZERO, |last| since(last.time, newest));
        let mut ran = this.map_or_else(of_reader, |(_, passed)| passed);
        if ran >= STANDSTILL_DOUBT {
            return Ok(None);
        }
        let mut doubted = None;
        if let Some(this) = this.map(|(opening, _)| opening).filter(|this| self.lacks(this)) {
            let next = Opening { position: this.next, time: this.time, epoch: Some(this.epoch) };
            let run = self.run_before(next).unwrap_or(RecordedRun {
                began: this.end_before,
                next,
                has_unrecorded: false,
            });
            doubted = run.doubted_from(this.end_before);
            ran = ran.saturating_add(run.ran(this.end_before));
        }
        for run in self.runs.iter().rev() {
            if ran >= STANDSTILL_DOUBT {
                return Ok(doubted);
            }
            let end = end_before(run.next.position)?;
            doubted = run.doubted_from(end).or(doubted);
            ran = ran.saturating_add(run.ran(end));
        }
        let is_unknown = self.may_be_others && ran < STANDSTILL_DOUBT;
        Ok(if is_unknown { Some(Micros(0)) } else { doubted })
    }

    /// Returns `true` if the log does not record this opening, and no acceptance of the clock behind it.
    fn lacks(&self, this: &ThisOpening) -> bool {
        let is_recorded = self.last.is_some_and(|last| last.epoch == Some(this.epoch));
        let is_accepted = self.accepted.is_some_and(|(position, _)| position >= this.next);
        !is_recorded && !is_accepted
    }
}

fn epoch_of(data: &Data<'_>) -> Option<Epoch> {
    let Data::Json(json) = data else { return None };
    let opened = serde_json::from_slice::<LedgerOpened>(json.as_bytes()).ok()?;
    u32::try_from(opened.epoch.get()).ok().map(Epoch)
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
        epoch: u32,
        openings: RecordedOpenings,
    }

    impl Runs {
        fn run(&mut self, opened: u64, end: u64) {
            self.ends.push(Micros(end));
            let position = Position::new(2 * self.ends.len() as u64).unwrap();
            self.epoch += 1;
            let epoch = Some(Epoch(self.epoch));
            self.openings.opened(Opening { position, time: Micros(opened), epoch });
        }

        /// A run whose opening the log does not record.
        fn unrecorded(&mut self, end: u64) {
            self.epoch += 1;
            *self.ends.last_mut().unwrap() = Micros(end);
        }

        fn doubted(&self, passed: u64) -> Option<u64> {
            let (next, now) =
                (Position::new(2 * self.ends.len() as u64).unwrap(), *self.ends.last().unwrap());
            self.doubted_in(
                ThisOpening { epoch: Epoch(self.epoch), next, end_before: now, time: now },
                passed,
            )
        }

        /// In a run after these whose opening the log does not record.
        fn doubted_in_unrecorded(&self, opened: u64, passed: u64) -> Option<u64> {
            let next = Position::new(2 * self.ends.len() as u64 + 1).unwrap();
            let (epoch, end_before) = (Epoch(self.epoch + 1), *self.ends.last().unwrap());
            self.doubted_in(ThisOpening { epoch, next, end_before, time: Micros(opened) }, passed)
        }

        fn doubted_in(&self, this: ThisOpening, passed: u64) -> Option<u64> {
            let end_before = |position: Position| {
                let run = usize::try_from(position.get() / 2).unwrap();
                Ok::<_, Infallible>(*self.ends.get(run - 2).unwrap())
            };
            let now = (Some((this, Duration::from_micros(passed))), *self.ends.last().unwrap());
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

    #[test]
    fn a_standstill_before_an_unrecorded_opening_is_doubted() {
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        assert_eq!(runs.doubted_in_unrecorded(107 * DAY, 0), None, "a week");
        for (passed, doubted) in [(0, Some(100 * DAY)), (DAY - 1, Some(100 * DAY)), (DAY, None)] {
            assert_eq!(runs.doubted_in_unrecorded(400 * DAY, passed), doubted, "after {passed} microseconds");
        }
        // Its events stand in the log as if the run before had gone on.
        runs.unrecorded(400 * DAY);
        assert_eq!(runs.doubted_in_unrecorded(400 * DAY + HOUR, HOUR), Some(DAY), "a second one");
        runs.run(400 * DAY + HOUR, 400 * DAY + 2 * HOUR);
        assert_eq!((runs.doubted(HOUR), runs.doubted(DAY)), (Some(DAY), None));
    }

    #[test]
    fn nothing_is_doubted_before_an_acceptance() {
        let mut runs = Runs::default();
        runs.run(DAY, 100 * DAY);
        let accepted = Position::new(3).unwrap();
        runs.openings.accept(accepted, Micros(400 * DAY));
        assert_eq!(runs.doubted_in_unrecorded(400 * DAY, 0), None, "it came behind the opening");
        runs.unrecorded(400 * DAY + HOUR);
        runs.run(401 * DAY, 401 * DAY);
        assert_eq!(runs.doubted(0), None);
        let mut later = Runs { epoch: 3, ..Runs::default() };
        (later.ends, later.openings) = (vec![Micros(400 * DAY)], RecordedOpenings::default());
        later.openings.opened(Opening {
            position: Position::FIRST,
            time: Micros(DAY),
            epoch: Some(Epoch(1)),
        });
        later.openings.accept(Position::new(2).unwrap(), Micros(390 * DAY));
        assert_eq!(
            later.doubted_in_unrecorded(400 * DAY, 0),
            Some(390 * DAY),
            "an opening after it is missing too"
        );
    }
}
