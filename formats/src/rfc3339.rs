//! Times as text: RFC 3339 in and out, proleptic Gregorian calendar, no leap seconds in [`Micros`].

use crate::ids::Micros;
use crate::limits::MAX_TIME_BYTES;

/// An error in the text of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not `YYYY-MM-DDThh:mm:ss`, an optional fraction, and `Z` or an offset.
    #[error("not an RFC 3339 time like 2026-11-20T13:00:00Z")]
    Form,
    /// Written as a time, but no such day, hour, minute, second or offset exists.
    #[error("no such time exists; check the day of the month, the hour and the offset")]
    NoSuchTime,
    /// A time that exists, but before 1970-01-01T00:00:00Z.
    #[error("before 1970-01-01T00:00:00Z, where the ledger's times begin")]
    BeforeEpoch,
}

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// The last microsecond that four digits of year can write: 9999-12-31T23:59:59.999999Z.
const LAST_WRITABLE: Micros = Micros(253_402_300_799_999_999);

/// Checks that `text` is an RFC 3339 time of any year from 0000 to 9999.
///
/// # Errors
///
/// [`TimeError::Form`] and [`TimeError::NoSuchTime`]; a time before 1970 is a time.
pub fn check_time(text: &str) -> Result<(), TimeError> {
    read(text).map(drop)
}

/// The instant that an RFC 3339 text names; fraction digits past the sixth are cut.
///
/// A leap second is the first instant of the next minute, as POSIX clocks have it.
///
/// # Errors
///
/// Every [`TimeError`].
pub fn parse_time(text: &str) -> Result<Micros, TimeError> {
    u64::try_from(read(text)?).map(Micros).map_err(|_| TimeError::BeforeEpoch)
}

/// The time as `2026-11-20T13:00:00.000000Z`, always with six fraction digits.
///
/// Times past the year 9999, which no clock gives, read as the last microsecond of 9999.
#[must_use]
pub fn format_time(time: Micros) -> String {
    let micros = time.min(LAST_WRITABLE).0;
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

/// Returns the text of a time without its fraction of a second.
#[must_use]
pub fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, rest)) if rest.ends_with('Z') => format!("{seconds}Z"),
        _ => time.to_owned(),
    }
}

/// Microseconds since 1970, negative before; the whole text must be used up.
fn read(text: &str) -> Result<i64, TimeError> {
    if text.len() > MAX_TIME_BYTES {
        return Err(TimeError::Form);
    }
    let mut rest = Digits(text.as_bytes());
    let year = rest.number(4)?;
    rest.one_of(b"-")?;
    let month = rest.number(2)?;
    rest.one_of(b"-")?;
    let day = rest.number(2)?;
    rest.one_of(b"Tt")?;
    let hour = rest.number(2)?;
    rest.one_of(b":")?;
    let minute = rest.number(2)?;
    rest.one_of(b":")?;
    let second = rest.number(2)?;
    let fraction = rest.fraction()?;
    let offset_minutes = rest.offset()?;

    let exists = (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 60;
    if !exists {
        return Err(TimeError::NoSuchTime);
    }
    let minutes = hour * 60 + minute - offset_minutes;
    if second == 60 && minutes.rem_euclid(24 * 60) != 23 * 60 + 59 {
        return Err(TimeError::NoSuchTime); // a leap second ends a day of UTC
    }
    let seconds = days_from_civil(year, month, day) * SECONDS_PER_DAY + minutes * 60 + second;
    Ok(seconds * MICROS_PER_SECOND + fraction)
}

/// The unread rest of a time's text.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn one_of(&mut self, allowed: &[u8]) -> Result<u8, TimeError> {
        match self.0.split_first() {
            Some((first, rest)) if allowed.contains(first) => {
                self.0 = rest;
                Ok(*first)
            }
            _ => Err(TimeError::Form),
        }
    }

    fn number(&mut self, digits: usize) -> Result<i64, TimeError> {
        let mut number = 0;
        for _ in 0..digits {
            number = number * 10 + i64::from(self.one_of(b"0123456789")? - b'0');
        }
        Ok(number)
    }

    /// Microseconds of `.123…`; 0 without a point.
    fn fraction(&mut self) -> Result<i64, TimeError> {
        if self.0.first() != Some(&b'.') {
            return Ok(0);
        }
        self.one_of(b".")?;
        let mut scale = MICROS_PER_SECOND / 10;
        let mut fraction = scale * self.number(1)?;
        while self.0.first().is_some_and(u8::is_ascii_digit) {
            scale /= 10;
            fraction += scale * self.number(1)?;
        }
        Ok(fraction)
    }

    /// Minutes east of UTC, at the very end of the text.
    fn offset(&mut self) -> Result<i64, TimeError> {
        let sign = match self.one_of(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => 0,
        };
        let mut minutes = 0;
        if sign != 0 {
            let hour = self.number(2)?;
            self.one_of(b":")?;
            let minute = self.number(2)?;
            if hour > 23 || minute > 59 {
                return Err(TimeError::NoSuchTime);
            }
            minutes = sign * (hour * 60 + minute);
        }
        if self.0.is_empty() { Ok(minutes) } else { Err(TimeError::Form) }
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years are counted from March, so that a leap day is the last of its year; an era of 400
/// years has 146,097 days, and 719,468 of them lie between 0000-03-01 and 1970-01-01.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`] for days from 1970 on: year, month and day.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_mean_the_instants_they_name() {
        for (text, micros) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.000001Z", 1),
            ("2026-11-20T13:00:00.000000Z", 1_795_179_600_000_000),
            ("2026-11-20t14:00:00.5+01:00", 1_795_179_600_500_000),
            ("2026-11-20T00:30:00-12:30", 1_795_179_600_000_000),
            ("2000-02-29T23:59:59.1234569Z", 951_868_799_123_456),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
            ("9999-12-31T23:59:59.999999Z", LAST_WRITABLE.0),
        ] {
            assert_eq!(parse_time(text), Ok(Micros(micros)), "{text}");
        }
    }

    #[test]
    fn every_day_of_ten_millennia_is_written_as_it_is_read() {
        for day in 0..=LAST_WRITABLE.0 / 86_400_000_000 {
            let time = Micros(day * 86_400_000_000 + day % 86_400_000_000);
            let text = format_time(time);
            assert_eq!(parse_time(&text), Ok(time), "{text}");
        }
        assert_eq!(format_time(Micros(1_795_179_600_000_000)), "2026-11-20T13:00:00.000000Z");
        assert_eq!(format_time(Micros(u64::MAX)), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn days_before_the_epoch_are_times_without_a_place_in_the_ledger() {
        for text in ["1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "1970-01-01T00:00:00+00:01"] {
            assert_eq!(check_time(text), Ok(()), "{text}");
            assert_eq!(parse_time(text), Err(TimeError::BeforeEpoch), "{text}");
        }
    }

    #[test]
    fn what_is_not_written_as_a_time_is_refused() {
        for text in [
            "",
            "now",
            "2026-11-20",
            "2026-11-20T13:00:00",
            "2026-11-20 13:00:00Z",
            "2026-11-20T13:00Z",
            "2026-11-20T13:00:00.Z",
            "2026-11-20T13:00:00,5Z",
            "2026-11-20T13:00:00ZZ",
            "2026-11-20T13:00:00Z ",
            " 2026-11-20T13:00:00Z",
            "2026-11-20T13:00:00+0100",
            "+2026-11-20T13:00:00Z",
            "26-11-20T13:00:00Z",
            "２026-11-20T13:00:00Z",
            &format!("2026-11-20T13:00:00.{}Z", "0".repeat(64)),
        ] {
            assert_eq!(check_time(text), Err(TimeError::Form), "{text:?}");
        }
    }

    #[test]
    fn what_no_calendar_or_clock_shows_is_refused() {
        for text in [
            "2026-00-20T13:00:00Z",
            "2026-13-20T13:00:00Z",
            "2026-11-00T13:00:00Z",
            "2026-11-31T13:00:00Z",
            "2026-02-29T13:00:00Z",
            "1900-02-29T13:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T13:60:00Z",
            "2026-11-20T13:00:61Z",
            "2026-11-20T13:00:60Z",
            "2026-11-20T13:00:00+24:00",
            "2026-11-20T13:00:00+01:60",
        ] {
            assert_eq!(check_time(text), Err(TimeError::NoSuchTime), "{text:?}");
        }
    }
    #[test]
    fn a_time_is_shown_to_the_second() {
        assert_eq!(to_the_second("2026-11-22T09:00:00.123456Z"), "2026-11-22T09:00:00Z");
        assert_eq!(to_the_second("2026-11-22T09:00:00Z"), "2026-11-22T09:00:00Z");
        assert_eq!(to_the_second("never. ever"), "never. ever");
    }
}
