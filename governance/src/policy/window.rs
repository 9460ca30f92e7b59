//! The time window of a rule, as minutes of a week.

use bitacora_formats::Micros;
use bitacora_vocabulary::{LocalTimes, TimeWindow, Weekday, ZoneName};

use super::fit::ConditionMatch;

const MINUTE_MICROS: u64 = 60 * 1_000_000;
const DAY_MINUTES: u64 = 24 * 60;
/// The day of the week, from Monday as 0, on which 1970 began: a Thursday.
const FIRST_WEEKDAY: u64 = 3;

/// The error in a time window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// Neither days nor hours.
    #[error("an empty time window holds always; leave it out, or give it days or hours")]
    Empty,
    /// Only one of `from` and `to`.
    #[error("`from` without `to`, or the other way round; give both")]
    HalfOpen,
    /// `from` and `to` are the same, or `from` is the end of a day.
    #[error("no time lies between `from` and `to`; leave both out for whole days")]
    NoTime,
}

/// Days on which it begins, and minutes of those days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// A bit for each day, Monday the lowest.
    days: u8,
    from: u64,
    to: u64,
    /// The zone of its days and minutes; UTC without one.
    zone: Option<ZoneName>,
}

impl Window {
    pub(super) fn compile(window: &TimeWindow) -> Result<Self, WindowError> {
        let days =
            window.days.as_ref().map_or(0x7f, |days| days.iter().fold(0, |bits, day| bits | bit_of(*day)));
        let (from, to) = match (window.from, window.to) {
            (Some(from), Some(to)) => (u64::from(from.minutes()), u64::from(to.minutes())),
            (None, None) if window.days.is_none() => return Err(WindowError::Empty),
            (None, None) => (0, DAY_MINUTES),
            _ => return Err(WindowError::HalfOpen),
        };
        if from == to || from == DAY_MINUTES {
            return Err(WindowError::NoTime);
        }
        Ok(Self { days, from, to, zone: window.zone.clone() })
    }

    pub(super) const fn zone(&self) -> Option<&ZoneName> {
        self.zone.as_ref()
    }

    /// Returns whether a time lies within. Perhaps, where the local time of its zone is not known.
    pub(super) fn fit(&self, time: Micros, local: Option<&LocalTimes>) -> ConditionMatch {
        let Some(zone) = &self.zone else {
            return ConditionMatch::from(self.contains(time.0 / MINUTE_MICROS));
        };
        let local = local.and_then(|local| local.in_zone(zone));
        local.map_or(ConditionMatch::Perhaps, |local| {
            ConditionMatch::from(self.contains(local.local.minutes()))
        })
    }

    fn contains(&self, minutes: u64) -> bool {
        let (day, minute) = ((minutes / DAY_MINUTES + FIRST_WEEKDAY) % 7, minutes % DAY_MINUTES);
        let begins_on = |day: u64| self.days & (1 << day) != 0;
        if self.from < self.to {
            return begins_on(day) && (self.from..self.to).contains(&minute);
        }
        let began_yesterday = begins_on((day + 6) % 7);
        (begins_on(day) && minute >= self.from) || (began_yesterday && minute < self.to)
    }
}

const fn bit_of(day: Weekday) -> u8 {
    match day {
        Weekday::Monday => 1,
        Weekday::Tuesday => 1 << 1,
        Weekday::Wednesday => 1 << 2,
        Weekday::Thursday => 1 << 3,
        Weekday::Friday => 1 << 4,
        Weekday::Saturday => 1 << 5,
        Weekday::Sunday => 1 << 6,
    }
}
