//! The times at which a rule holds: days and hours, of UTC or of a time zone.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::super::{BoundedList, ZoneName};
use super::given;

/// Minutes of a day.
const DAY_MINUTES: u16 = 24 * 60;

/// A span of every week. Its first minute is within, its last is not.
///
/// It may cross midnight; `days` are then those on which it begins. Without `from` and `to` it is whole days, without `days`
/// every day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeWindow {
    /// The days on which it begins.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "BoundedList<Weekday, 1, 7>")]
    pub days: Option<BoundedList<Weekday, 1, 7>>,
    /// The time at which it begins; together with `to`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "TimeOfDay")]
    pub from: Option<TimeOfDay>,
    /// The time at which it is over.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "TimeOfDay")]
    pub to: Option<TimeOfDay>,
    /// The time zone whose clocks show these days and hours, such as `Europe/Madrid`. Left out, they are those of UTC.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "ZoneName")]
    pub zone: Option<ZoneName>,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weekday {
    /// Monday.
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}

/// A text is not a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time of day; write it as HH:MM, from 00:00 to 24:00")]
pub struct TimeOfDayError;

/// A minute of a day in UTC, from `00:00` to `24:00`, the end of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay(u16);

impl TimeOfDay {
    /// Minutes since the day began: at most 1,440.
    #[must_use]
    pub const fn minutes(self) -> u16 {
        self.0
    }
}

impl FromStr for TimeOfDay {
    type Err = TimeOfDayError;

    fn from_str(text: &str) -> Result<Self, TimeOfDayError> {
        let &[tens_of_hours, hours, b':', tens, ones] = text.as_bytes() else { return Err(TimeOfDayError) };
        let number = |tens: u8, ones: u8| {
            (tens.is_ascii_digit() && ones.is_ascii_digit())
                .then(|| u16::from(tens - b'0') * 10 + u16::from(ones - b'0'))
                .ok_or(TimeOfDayError)
        };
        let (hours, minutes) = (number(tens_of_hours, hours)?, number(tens, ones)?);
        let total = hours * 60 + minutes;
        if minutes < 60 && total <= DAY_MINUTES { Ok(Self(total)) } else { Err(TimeOfDayError) }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = TimeOfDayError;

    fn try_from(text: String) -> Result<Self, TimeOfDayError> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}

impl JsonSchema for TimeOfDay {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TimeOfDay".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$" })
    }
}
