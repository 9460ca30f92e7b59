//! Times on the command line: `24h`, `7d`, `yesterday`, `today`, a date, or RFC 3339. Days are those of UTC.

use std::str::FromStr;
use std::time::Duration;

use bitacora_formats::{Micros, format_time, parse_time};
use bitacora_ledger::{Clock, SystemClock};
use serde::{Serialize, Serializer};

/// The forms of a time, for help and errors.
const FORMS: &str = "24h, 7d, yesterday, today, 2026-11-20 or 2026-11-20T13:00:00Z";
/// The characters of a date.
const DATE_CHARACTERS: usize = 10;
const DAY_SECONDS: u64 = 86_400;
/// A hundred years, so that no sum is past what a number of JSON may be.
const MAX_SPAN_SECONDS: u64 = 100 * 366 * DAY_SECONDS;

/// A time or a duration, as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeText {
    Span(Micros),
    At(Micros),
}

fn parse(text: &str, now: Micros) -> Result<TimeText, String> {
    let day = |ago: u64| start_of_day(Micros(now.0.saturating_sub(ago * DAY_SECONDS * 1_000_000)));
    let at = match text {
        "today" => day(0),
        "yesterday" => day(1),
        _ if text.len() == DATE_CHARACTERS => parse_time(&format!("{text}T00:00:00Z")).ok(),
        _ => parse_time(text).ok(),
    };
    let span = || span(text).map(TimeText::Span);
    at.map(TimeText::At).or_else(span).ok_or_else(|| format!("expected a time: {FORMS}"))
}

fn span(text: &str) -> Option<Micros> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => DAY_SECONDS,
        'w' => 7 * DAY_SECONDS,
        _ => return None,
    };
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let span = number.checked_mul(seconds).filter(|span| (1..=MAX_SPAN_SECONDS).contains(span))?;
    Some(Micros(span * 1_000_000))
}

fn start_of_day(time: Micros) -> Option<Micros> {
    let date: String = format_time(time).chars().take(DATE_CHARACTERS).collect();
    parse_time(&format!("{date}T00:00:00Z")).ok()
}

/// A duration; `0` is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait(pub Duration);

impl FromStr for Wait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let span = if text == "0" { Some(Micros(0)) } else { span(text) };
        let micros = span.map(|span| span.0);
        micros
            .map(|micros| Self(Duration::from_micros(micros)))
            .ok_or_else(|| "expected a duration: 30s, 5m, 1h or 0".to_owned())
    }
}

/// A time that bounds a list: a duration counts back from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastTime(pub Micros);

impl FromStr for PastTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let now = SystemClock.now();
        Ok(Self(match parse(text, now)? {
            TimeText::Span(span) => Micros(now.0.saturating_sub(span.0)),
            TimeText::At(time) => time,
        }))
    }
}

impl Serialize for PastTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        format_time(self.0).serialize(serializer)
    }
}

/// The UTC day of a time that bounds a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PastDay(String);

impl FromStr for PastDay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let PastTime(time) = text.parse()?;
        Ok(Self(format_time(time).chars().take(DATE_CHARACTERS).collect()))
    }
}

/// A time at which something ends: a duration counts from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndTime(pub Micros);

impl FromStr for EndTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let now = SystemClock.now();
        let end = match parse(text, now)? {
            TimeText::Span(span) => Micros(now.0.saturating_add(span.0)),
            TimeText::At(time) => time,
        };
        if end <= now {
            Err("found a time in the past, expected one to come".to_owned())
        } else {
            Ok(Self(end))
        }
    }
}

impl EndTime {
    /// Returns the time as RFC 3339.
    pub fn text(self) -> String {
        format_time(self.0)
    }
}

/// Parses an age: a duration, or the time until a past time.
pub fn age(text: &str) -> Result<Micros, String> {
    let now = SystemClock.now();
    match parse(text, now)? {
        TimeText::Span(span) => Ok(span),
        TimeText::At(time) if time < now => Ok(Micros(now.0 - time.0)),
        TimeText::At(_) => Err("found a time to come, expected an age or a past time".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-26T17:30:00Z";

    fn at(text: &str) -> Result<TimeText, String> {
        parse(text, parse_time(NOW).unwrap())
    }

    #[test]
    fn a_time_is_a_span_a_day_a_date_or_rfc_3339() {
        let day = |text: &str| Ok(TimeText::At(parse_time(text).unwrap()));
        assert_eq!(at("30d"), Ok(TimeText::Span(Micros(30 * 86_400 * 1_000_000))));
        assert_eq!(at("1m"), Ok(TimeText::Span(Micros(60_000_000))));
        assert_eq!(at("2w"), at("14d"));
        assert_eq!(at("today"), day("2026-11-26T00:00:00Z"));
        assert_eq!(at("yesterday"), day("2026-11-25T00:00:00Z"));
        assert_eq!(at("2026-11-20"), day("2026-11-20T00:00:00Z"));
        assert_eq!(at("2026-11-20T13:00:00Z"), day("2026-11-20T13:00:00Z"));
        for bad in ["", "d", "30", "-1d", "0h", "1.5h", "1y", "dd", "1dd", "99999999999d", "1é", "2026-13-01"]
        {
            assert!(at(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bound_counts_back_and_an_end_forward() {
        let now = SystemClock.now();
        assert!("1h".parse::<PastTime>().unwrap().0 < now && "1h".parse::<EndTime>().unwrap().0 > now);
        assert!("2020-01-01".parse::<EndTime>().is_err());
        assert_eq!("2026-11-20T13:00:00Z".parse(), Ok(PastDay("2026-11-20".to_owned())));
        assert_eq!(age("90d"), Ok(Micros(90 * 86_400 * 1_000_000)));
        assert!(age("yesterday").unwrap().0 >= 86_400 * 1_000_000 && age("2126-01-01").is_err());
    }
}
