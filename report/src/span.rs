//! The span of time that a report is about. Days are those of UTC.

use bitacora_formats::{Micros, format_time, parse_time};

const DAY_MICROS: u64 = 86_400 * 1_000_000;
/// The characters of a date in a time.
const DATE_CHARACTERS: usize = 10;

/// A span of time: from a time on, before another. An absent bound is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportSpan {
    from: Option<Micros>,
    before: Option<Micros>,
}

/// The reasons for which there is no such span.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// The day has not begun.
    #[error("found {day}, a day to come; expected today ({today}, UTC) or an earlier day")]
    FutureDay {
        /// The day.
        day: String,
        /// The day of now.
        today: String,
    },
    /// The bounds are the wrong way round, or the same.
    #[error("found the end {to} at or before the beginning {from}; expected a later end")]
    Reversed {
        /// The beginning.
        from: String,
        /// The end.
        to: String,
    },
}

impl ReportSpan {
    /// Returns the UTC day of a time.
    ///
    /// # Errors
    /// [`SpanError::FutureDay`] where it has not begun at `now`.
    pub fn day(time: Micros, now: Micros) -> Result<Self, SpanError> {
        let from = Micros(time.0 - time.0 % DAY_MICROS);
        if from > now {
            return Err(SpanError::FutureDay { day: date(from), today: date(now) });
        }
        Ok(Self { from: Some(from), before: Some(Micros(from.0.saturating_add(DAY_MICROS))) })
    }

    /// Returns the span between two times. The end is not in it.
    ///
    /// # Errors
    /// [`SpanError::Reversed`].
    pub fn between(from: Option<Micros>, before: Option<Micros>) -> Result<Self, SpanError> {
        match (from, before) {
            (Some(from), Some(to)) if to <= from => {
                Err(SpanError::Reversed { from: format_time(from), to: format_time(to) })
            }
            _ => Ok(Self { from, before }),
        }
    }

    /// Returns the span of the whole days that this one touches. Sums by day are asked for by it.
    #[must_use]
    pub fn whole_days(self) -> Self {
        let up = |time: Micros| Micros(time.0.div_ceil(DAY_MICROS).saturating_mul(DAY_MICROS));
        Self { from: self.from.map(|from| Micros(from.0 - from.0 % DAY_MICROS)), before: self.before.map(up) }
    }

    /// Returns the beginning as RFC 3339.
    #[must_use]
    pub fn from(&self) -> Option<String> {
        self.from.map(format_time)
    }

    /// Returns the end as RFC 3339.
    #[must_use]
    pub fn before(&self) -> Option<String> {
        self.before.map(format_time)
    }

    /// Returns the first day.
    #[must_use]
    pub fn from_date(&self) -> Option<String> {
        self.from.map(date)
    }

    /// Returns the first day after the span, where that ends with a day.
    #[must_use]
    pub fn before_date(&self) -> Option<String> {
        self.before.map(date)
    }

    /// Returns `true` if an RFC 3339 time is in the span.
    #[must_use]
    pub fn contains(&self, time: &str) -> bool {
        let Ok(time) = parse_time(time) else { return false };
        self.from.is_none_or(|from| from <= time) && self.before.is_none_or(|before| time < before)
    }

    /// Describes the span for a title: `on 2026-11-20`, `from … to …`.
    #[must_use]
    pub fn words(&self) -> String {
        match (self.from, self.before) {
            (None, None) => "of all time".to_owned(),
            (Some(from), None) => format!("from {} on", format_time(from)),
            (None, Some(before)) => format!("before {}", format_time(before)),
            (Some(from), Some(before)) if from.0 % DAY_MICROS == 0 && before.0 == from.0 + DAY_MICROS => {
                format!("on {} (UTC)", date(from))
            }
            (Some(from), Some(before)) => {
                format!("from {} to before {}", format_time(from), format_time(before))
            }
        }
    }
}

fn date(time: Micros) -> String {
    format_time(time).chars().take(DATE_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Micros {
        parse_time(text).unwrap()
    }

    #[test]
    fn a_day_is_that_of_utc_and_not_one_to_come() {
        let now = at("2026-11-20T13:00:00Z");
        let day = ReportSpan::day(at("2026-11-20T23:59:59Z"), now).unwrap();
        assert_eq!(
            (day.from().as_deref(), day.before().as_deref()),
            (Some("2026-11-20T00:00:00.000000Z"), Some("2026-11-21T00:00:00.000000Z"))
        );
        assert_eq!(
            (day.from_date().as_deref(), day.before_date().as_deref()),
            (Some("2026-11-20"), Some("2026-11-21"))
        );
        assert_eq!(day.words(), "on 2026-11-20 (UTC)");
        assert!(day.contains("2026-11-20T00:00:00Z") && day.contains("2026-11-20T23:59:59.999999Z"));
        assert!(!day.contains("2026-11-21T00:00:00Z") && !day.contains("2026-11-19T23:59:59Z"));
        assert!(!day.contains("someday"));
        let error = ReportSpan::day(at("2026-11-21T00:00:00Z"), now).unwrap_err();
        assert_eq!(
            error.to_string(),
            "found 2026-11-21, a day to come; expected today (2026-11-20, UTC) or an earlier day"
        );
    }

    #[test]
    fn an_end_is_after_its_beginning() {
        let (early, late) = (at("2026-11-20T00:00:00Z"), at("2026-11-20T12:00:00Z"));
        assert!(matches!(ReportSpan::between(Some(late), Some(early)), Err(SpanError::Reversed { .. })));
        assert!(matches!(ReportSpan::between(Some(early), Some(early)), Err(SpanError::Reversed { .. })));
        let span = ReportSpan::between(Some(early), Some(late)).unwrap();
        assert_eq!(span.whole_days(), ReportSpan::day(early, late).unwrap());
        assert_eq!(span.whole_days().whole_days(), span.whole_days());
        assert!(ReportSpan::default().contains("1970-01-01T00:00:00Z"));
    }
}
