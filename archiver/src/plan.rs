//! The plan of archiving: positions that are due, a pure function of rules, time and recording times.

use std::time::Duration;

use bitacora_formats::{Micros, Position, TILE_WIDTH, format_time, parse_time};

use crate::limits::{MAX_ARCHIVE_EVENTS, MAX_PLANNED};

/// Events of the smallest range that an archive holds, of which every range is a multiple: one group of the tree's leaves.
pub const ARCHIVE_UNIT_EVENTS: u64 = TILE_WIDTH as u64;

/// For how long events stay hot unless it is configured.
pub const DEFAULT_COLD_AFTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The longest period that one archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Period {
    /// The events of a day, UTC.
    Day,
    /// The events of a month, UTC.
    #[default]
    Month,
    /// Events of any time: age makes only those due that fill an archive.
    Any,
}

/// The rules for when events are archived, and how many together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Events older than that are due, once their whole period is; `None`: age makes none due.
    pub cold_after: Option<Duration>,
    /// As soon as more events than that are not archived, the older half is due, whatever its age; `None`: no number does.
    pub hot_events: Option<u64>,
    /// The longest period that one archive holds.
    pub period: Period,
    /// The most events that one archive holds; up to `MAX_ARCHIVE_EVENTS`.
    pub archive_events: u64,
    /// `true` if everything is due now that can be archived at all.
    pub is_forced: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            cold_after: Some(DEFAULT_COLD_AFTER),
            hot_events: None,
            period: Period::default(),
            archive_events: MAX_ARCHIVE_EVENTS,
            is_forced: false,
        }
    }
}

/// A range of positions that is due, for one archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueRange {
    /// The first position: one past a multiple of [`ARCHIVE_UNIT_EVENTS`].
    pub first: Position,
    /// The last position: a multiple of [`ARCHIVE_UNIT_EVENTS`].
    pub last: Position,
}

impl DueRange {
    /// Returns the number of its events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.last.get() - self.first.get() + 1
    }
}

/// The facts that a plan rests on, beside the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanInputs {
    /// The last archived position; 0 for none.
    pub archived: u64,
    /// The durable head.
    pub head: Position,
    /// The first position of the newest frame, which is never archived: what remains in segments begins with a frame.
    pub newest_frame: Position,
    /// The time of the clock.
    pub now: Micros,
}

/// The recording times of events. Times never go back from one position to the next.
pub trait Times {
    /// The error of reading a time.
    type Error;

    /// The time of the event at a position that is durable.
    fn time_of(&mut self, position: Position) -> Result<Micros, Self::Error>;

    /// The first position recorded at this time or later; `None` where all events are older.
    fn first_at(&mut self, time: Micros) -> Result<Option<Position>, Self::Error>;
}

/// The ranges that are due, in order and without a gap: the first begins where the archives end. At most `MAX_PLANNED`; once
/// those are archived, the next plan goes on.
///
/// A period is archived as a whole where age makes it due. An archive ends within a period only when events are archived now, when too
/// many are not archived, or when one archive cannot hold it.
///
/// # Errors
/// What [`Times`] say.
pub fn plan<T: Times>(rules: &Rules, inputs: &PlanInputs, times: &mut T) -> Result<Vec<DueRange>, T::Error> {
    let most = whole_units(inputs.newest_frame.get() - 1);
    let age = |time: Micros, times: &mut T| {
        let first = times.first_at(time)?;
        Ok(first.map_or(inputs.head.get(), |first| first.get() - 1).min(most))
    };
    // A clock that went back makes nothing cold; one that shows less than has passed since 1970 neither.
    let cold_before = rules.cold_after.and_then(|after| {
        inputs.now.0.checked_sub(u64::try_from(after.as_micros()).unwrap_or(u64::MAX)).map(Micros)
    });
    let cold_end = cold_before.map_or(Ok(0), |time| age(time, times))?;
    let hot_events = inputs.head.get().saturating_sub(inputs.archived);
    let crowded = rules.hot_events.filter(|most_hot| hot_events > *most_hot);
    let crowded_end = crowded.map_or(0, |most_hot| inputs.head.get().saturating_sub(most_hot / 2));
    let forced_end = if rules.is_forced { most } else { 0 };
    // Up to here an archive may end anywhere; behind it, with its period alone.
    let anywhere = whole_units(crowded_end.max(forced_end).min(most));
    let capacity = whole_units(rules.archive_events.min(MAX_ARCHIVE_EVENTS)).max(ARCHIVE_UNIT_EVENTS);

    let mut due: Vec<DueRange> = Vec::new();
    let mut archived = inputs.archived;
    while archived < whole_units(cold_end.max(anywhere)) && due.len() < MAX_PLANNED {
        let Some(first) = Position::new(archived + 1) else { break };
        let (next, period_end) = end_of_period(rules.period, first, most, times)?;
        let full = archived + capacity;
        let end = period_end.min(full);
        // All of it is cold: its period ended long enough ago, or no more of it fits.
        let is_whole = next.zip(cold_before).is_some_and(|(next, cold_before)| next <= cold_before);
        let is_full = end == full && end <= cold_end;
        let end = if is_whole || is_full { end } else { end.min(anywhere) };
        let Some(last) = Position::new(end).filter(|last| *last >= first) else { break };
        due.push(DueRange { first, last });
        archived = end;
    }
    Ok(due)
}

/// Returns the end of the period of `first`'s unit, if it ends, and the last position of its whole units by now. A unit belongs to the
/// period of its last event, since it cannot be divided.
fn end_of_period<T: Times>(
    period: Period,
    first: Position,
    most: u64,
    times: &mut T,
) -> Result<(Option<Micros>, u64), T::Error> {
    let end_of_unit = first.plus(ARCHIVE_UNIT_EVENTS - 1).filter(|last| last.get() <= most);
    let Some(end_of_unit) = end_of_unit else { return Ok((None, most)) };
    let Some(next) = next_period(period, times.time_of(end_of_unit)?) else { return Ok((None, most)) };
    let first_later = times.first_at(next)?;
    Ok((Some(next), first_later.map_or(most, |first_later| whole_units(first_later.get() - 1)).min(most)))
}

/// Returns the beginning of the period after that of `time`; `None` if there is none.
fn next_period(period: Period, time: Micros) -> Option<Micros> {
    const DAY_US: u64 = 24 * 60 * 60 * 1_000_000;
    match period {
        Period::Day => (time.0 / DAY_US + 1).checked_mul(DAY_US).map(Micros),
        Period::Any => None,
        Period::Month => {
            let text = format_time(time);
            let (year, month) = (text.get(..4)?.parse::<u32>().ok()?, text.get(5..7)?.parse::<u32>().ok()?);
            let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            parse_time(&format!("{year:04}-{month:02}-01T00:00:00Z")).ok()
        }
    }
}

fn whole_units(events: u64) -> u64 {
    events / ARCHIVE_UNIT_EVENTS * ARCHIVE_UNIT_EVENTS
}

#[cfg(test)]
mod tests;
