//! The part of a ledger's history that keeps events longer than the policy says: its open runs, and the openings by which its clock is
//! believed.

use bitacora_formats::{After, Micros, Position};
use bitacora_governance::ClockTrust;

use super::counted_time::CountedTime;
use super::open_runs::OpenRuns;
use super::recorded_openings::RecordedOpenings;
use crate::ledger::Ledger;
use crate::query::{EventPage, Filter, ReadFrom, ReadQuery, StoredEvent};
use crate::read_error::ReadError;

/// The events that are read at once.
const EVENTS_READ_AT_ONCE: usize = 1_000;

/// The runs that have not ended, and the openings of a ledger, as its log records them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionHistory {
    pub(super) open_runs: OpenRuns,
    pub(super) openings: RecordedOpenings,
}

impl Ledger {
    /// Reads what keeps events longer than the policy says, by `read`, which may search. Where an archive is not available, any run may be
    /// open, and the clock is believed by what is not archived.
    ///
    /// # Errors
    /// The other errors of `read`.
    pub fn retention_history(
        &self,
        read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
    ) -> Result<RetentionHistory, ReadError> {
        RetentionHistory::read(read, self.released_through())
    }

    /// Reads the openings alone.
    pub(crate) fn recorded_openings(
        &self,
        read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
    ) -> Result<RecordedOpenings, ReadError> {
        let mut openings = RecordedOpenings::default();
        let take = |event: Option<&StoredEvent<'_>>| match event {
            Some(stored) => openings.take(stored),
            None => openings.pass_over(),
        };
        each_event(&RecordedOpenings::KINDS, read, self.released_through(), take)?;
        Ok(openings)
    }
}

impl Ledger {
    /// Returns the time up to which ages are counted. What expires by a clock that is ahead is gone for good: so a day passes first in which
    /// a person can see it.
    pub(crate) fn counted_time(
        &self,
        openings: &RecordedOpenings,
        trust: &ClockTrust,
    ) -> Result<CountedTime, ReadError> {
        let shared = self.shared();
        let (newest, clock) = (self.time_of_head()?, &*shared.environment.clock);
        let passed = shared.opening_time.passed(clock);
        let doubted = openings.doubted_from((passed, newest), |opening| self.end_before_opening(opening))?;
        Ok(CountedTime::by_clock(newest, trust, clock).doubted_from(doubted, trust))
    }

    /// Returns the time of the last event before an opening. Each opening begins a segment, in which events may stand before the one that
    /// records the opening.
    fn end_before_opening(&self, opening: Position) -> Result<Micros, ReadError> {
        let first = self.shared().read.segments.holding(opening).map_or(opening, |segment| segment.first);
        let last = Position::new(first.get() - 1);
        last.map_or(Ok(Micros(0)), |last| self.time_at(last))
    }
}

impl RetentionHistory {
    fn read(
        read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
        released: Option<Position>,
    ) -> Result<Self, ReadError> {
        let kinds = [&OpenRuns::KINDS[..], &RecordedOpenings::KINDS].concat();
        let mut history = Self::default();
        let take = |event: Option<&StoredEvent<'_>>| match event {
            Some(stored) => {
                history.open_runs.take(&stored.event);
                history.openings.take(stored);
            }
            None => {
                history.open_runs.pass_over();
                history.openings.pass_over();
            }
        };
        each_event(&kinds, read, released, take)?;
        Ok(history)
    }
}

/// Reads all events of these types, in order. Where an archive is not available, `take` is given `None`, and it goes on behind what was
/// released.
fn each_event(
    kinds: &[&str],
    mut read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
    released: Option<Position>,
    mut take: impl FnMut(Option<&StoredEvent<'_>>),
) -> Result<(), ReadError> {
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let filter = Filter { kinds, ..Filter::default() };
    let mut from = Some(ReadFrom::After(After::START));
    let mut behind_released = released;
    while let Some(next) = from {
        let query = ReadQuery { from: next, until: None, limit: EVENTS_READ_AT_ONCE, filter: filter.clone() };
        match read(&query) {
            Ok(page) => {
                page.events.iter().for_each(|stored| take(Some(stored)));
                from = page.next;
            }
            Err(ReadError::Archive(error)) => {
                tracing::warn!(%error, "which runs are open, and since when the clock is right, is not known from archives");
                take(None);
                from = behind_released.take().map(|last| ReadFrom::After(After::new(last.get())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive_tier::{ArchiveTierError, ArchiveTierErrorKind};

    #[test]
    fn any_run_may_be_open_where_an_archive_is_missing() {
        let (first, last) = (Position::FIRST, Position::FIRST);
        let (kind, what) = (ArchiveTierErrorKind::Unavailable, "moved away".to_owned());
        let missing = ArchiveTierError { first, last, kind, what };
        let mut asked = Vec::new();
        let read = |query: &ReadQuery| {
            asked.push(query.from);
            Err(ReadError::Archive(missing.clone()))
        };
        let runs = RetentionHistory::read(read, Position::new(7)).unwrap().open_runs;
        assert!(runs.include(Some("r1"), None) && !runs.include(None, Some(b"{}")));
        assert_eq!(asked, [After::START, After::new(7)].map(ReadFrom::After), "and no more");
    }
}
