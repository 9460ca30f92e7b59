//! Local times, as decisions record them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedText, Name};
use bitacora_formats::{Micros, format_time, parse_time};

/// Zones that one decision looks at.
pub const MAX_LOCAL_TIMES: usize = 16;
/// Bytes of the name of a zone.
pub const MAX_ZONE_BYTES: usize = 64;
/// Bytes of a local time: `2026-03-29T03:30`.
const LOCAL_BYTES: usize = 16;
const MINUTE_MICROS: u64 = 60_000_000;
const DAY_MINUTES: u64 = 24 * 60;

/// The name of a time zone, as IANA has it: `Europe/Madrid`.
pub type ZoneName = BoundedText<MAX_ZONE_BYTES>;

/// Local times of a decision, in the zones that it looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalTimes {
    /// The version of the zone data that says so.
    pub zone_data: Name,
    /// The times.
    pub times: BoundedList<LocalTime, 1, MAX_LOCAL_TIMES>,
}

/// The local time of a zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalTime {
    /// The zone.
    pub zone: ZoneName,
    /// The time there.
    pub local: LocalMinute,
}

/// A minute that clocks show somewhere, from 1970 on; written as `2026-03-29T03:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LocalMinute(u64);

/// A text is no local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a local time; write it as 2026-03-29T03:30")]
pub struct LocalMinuteError;

impl LocalTimes {
    /// Returns the time that clocks of a zone showed, if it is recorded.
    #[must_use]
    pub fn in_zone(&self, zone: &ZoneName) -> Option<&LocalTime> {
        self.times.iter().find(|time| time.zone == *zone)
    }
}

impl LocalMinute {
    /// Returns the minute of a time that clocks show, in microseconds; `None` where no date is written with four digits of the year.
    #[must_use]
    pub fn of(shown: Micros) -> Option<Self> {
        let minute = Self(shown.0 / MINUTE_MICROS);
        minute.to_string().parse().ok().filter(|read| *read == minute)
    }

    /// Returns the days since 1970-01-01 there.
    #[must_use]
    pub const fn day(self) -> u64 {
        self.0 / DAY_MINUTES
    }

    /// Returns the minutes since 1970-01-01T00:00 there, as if every day had the same hours.
    #[must_use]
    pub const fn minutes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for LocalMinute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format_time(Micros(self.0.saturating_mul(MINUTE_MICROS)));
        f.write_str(text.get(..LOCAL_BYTES).unwrap_or(&text))
    }
}

impl FromStr for LocalMinute {
    type Err = LocalMinuteError;

    fn from_str(text: &str) -> Result<Self, LocalMinuteError> {
        let whole = format!("{text}:00Z");
        let shown = parse_time(&whole).ok().filter(|_| text.len() == LOCAL_BYTES).ok_or(LocalMinuteError)?;
        Ok(Self(shown.0 / MINUTE_MICROS))
    }
}

impl TryFrom<String> for LocalMinute {
    type Error = LocalMinuteError;

    fn try_from(text: String) -> Result<Self, LocalMinuteError> {
        text.parse()
    }
}

impl From<LocalMinute> for String {
    fn from(minute: LocalMinute) -> Self {
        minute.to_string()
    }
}

impl JsonSchema for LocalMinute {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LocalMinute".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_is_written_in_one_way() {
        let minute: LocalMinute = "2026-03-29T03:30".parse().unwrap();
        assert_eq!((minute.to_string(), minute.day()), ("2026-03-29T03:30".to_owned(), 20_541));
        assert_eq!(minute.minutes() % DAY_MINUTES, 210);
        for bad in [
            "2026-03-29T03:3",
            "2026-03-29 03:30",
            "2026-02-30T00:00",
            "2026-03-29T24:01",
            "2026-03-29T03:30Z",
            "",
        ] {
            assert_eq!(bad.parse::<LocalMinute>(), Err(LocalMinuteError), "{bad}");
        }
        assert_eq!(LocalMinute::of(Micros(u64::MAX)), None);
    }
}
