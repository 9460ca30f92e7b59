//! The time span of a list: typed in the viewer's zone, asked for in UTC.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp};
use maud::{Markup, html};

use crate::components::{quoted, text};
use crate::form::query;
use crate::page_error::PageError;
use crate::visit::Visit;
use crate::zone::Zone;

/// The query parameter that names the zone of the two times, so that an address means the same to everybody.
const ZONE_FIELD: &str = "zone";
/// The beginnings that a list offers, in hours before now.
const OFFERED_HOURS: [(&str, i64); 3] = [("Last hour", 1), ("24 hours", 24), ("7 days", 7 * 24)];

/// One end of a time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpanEnd {
    /// It begins here.
    Since,
    /// It ends before this time.
    Before,
}

/// A time span with up to two ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeSpan {
    since: Option<Timestamp>,
    before: Option<Timestamp>,
    /// The choices that were made for times that come twice or never.
    notes: Vec<String>,
}

impl SpanEnd {
    const fn name(self) -> &'static str {
        match self {
            Self::Since => "since",
            Self::Before => "before",
        }
    }
}

impl TimeSpan {
    /// Reads the span from the query of a list.
    pub(crate) fn of(visit: &Visit) -> Result<Self, PageError> {
        let named = visit.query.get(ZONE_FIELD);
        let zone = named.map_or_else(
            || Ok(visit.zone.clone()),
            |name| {
                Zone::named(name).ok_or_else(|| {
                    PageError::Field(format!(
                        "{} is no time zone; write one as Europe/Berlin, or UTC",
                        quoted(name)
                    ))
                })
            },
        )?;
        Self::read(&zone, visit.query.get(SpanEnd::Since.name()), visit.query.get(SpanEnd::Before.name()))
    }

    fn read(zone: &Zone, since: Option<&str>, before: Option<&str>) -> Result<Self, PageError> {
        let mut span = Self::default();
        span.since = since.map(|text| span.instant(zone, SpanEnd::Since, text)).transpose()?;
        span.before = before.map(|text| span.instant(zone, SpanEnd::Before, text)).transpose()?;
        if span.since.zip(span.before).is_some_and(|(since, before)| before <= since) {
            let text = "The time span is empty: let `before` be later than `since`.".to_owned();
            return Err(PageError::Field(text));
        }
        Ok(span)
    }

    /// Reads a time: with an offset it is meant as it stands, else in the zone. A time that comes twice gives the wider span, and one
    /// that never comes gives the moment of the change.
    fn instant(&mut self, zone: &Zone, end: SpanEnd, text: &str) -> Result<Timestamp, PageError> {
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Ok(instant);
        }
        let not_read = || {
            let name = end.name();
            PageError::Field(format!(
                "{} is no time for `{name}`; write it as 2026-11-27 08:00, or as 2026-11-27T08:00:00Z",
                quoted(text)
            ))
        };
        let local: DateTime = text.parse().map_err(|_| not_read())?;
        let ambiguous = zone.rules().to_ambiguous_timestamp(local);
        let name = &zone.name;
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => {}
            AmbiguousOffset::Fold { .. } => self.notes.push(match end {
                SpanEnd::Since => {
                    format!("{text} comes twice in {name}. The span begins with the first of them.")
                }
                SpanEnd::Before => {
                    format!("{text} comes twice in {name}. The span ends before the second of them.")
                }
            }),
            AmbiguousOffset::Gap { .. } => {
                let earlier = ambiguous.earlier().map_err(|_| not_read())?;
                let change = change_near(zone.rules(), earlier).ok_or_else(not_read)?;
                let moment = zone.show_with_offset(&change.to_string());
                self.notes.push(format!(
                    "{text} never comes in {name}. {moment} is taken, when the clock changes."
                ));
                return Ok(change);
            }
        }
        let chosen = if end == SpanEnd::Since { ambiguous.earlier() } else { ambiguous.later() };
        chosen.map_err(|_| not_read())
    }

    /// Returns the ends as parameters of the interface.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let both = [(SpanEnd::Since, self.since), (SpanEnd::Before, self.before)];
        both.into_iter().filter_map(|(end, at)| Some((end.name(), at?.to_string()))).collect()
    }

    /// Returns `true` if the span has an end.
    pub(crate) fn is_bounded(&self) -> bool {
        self.since.is_some() || self.before.is_some()
    }

    /// Returns the fields of a filter form.
    pub(crate) fn fields(&self, visit: &Visit) -> Markup {
        let field = |end: SpanEnd, label: &str, at: Option<Timestamp>| {
            let (kind, value) =
                at.map_or(("datetime-local", String::new()), |at| field_value(&visit.zone, at));
            html! { label { (label) " " input name=(end.name()) type=(kind) step="1" value=(value); } }
        };
        html! {
            (field(SpanEnd::Since, "Since", self.since))
            (field(SpanEnd::Before, "Before", self.before))
            input type="hidden" name=(ZONE_FIELD) value=(visit.zone.name);
        }
    }

    /// Returns links to spans that are asked for often, and what was chosen for times that come twice or never.
    pub(crate) fn offers(&self, visit: &Visit) -> Markup {
        let now = Timestamp::now();
        let link = |name: &str, since: Timestamp| {
            let others = ["since", "before", ZONE_FIELD, "after", "format", "done"];
            let kept = visit.query.without(&others);
            let since = since.to_string();
            let address = query(kept.chain([("since", since.as_str())]));
            html! { a href=(format!("{}{address}", visit.path)) { (name) } }
        };
        let today =
            now.to_zoned_datetime(visit.zone.rules().clone()).start_of_day().map(|day| day.timestamp());
        html! {
            p.offers { "Time span: "
                @if let Ok(today) = today { (link("Today", today)) " " }
                @for (name, hours) in OFFERED_HOURS {
                    @if let Ok(since) = now.checked_sub(Span::new().hours(hours)) { (link(name, whole_second(since))) " " }
                }
                span.note { "times in " (visit.zone.name) }
            }
            @for note in &self.notes { p.notice role="status" { (text(note)) } }
        }
    }
}

/// Returns the time to the second, so that addresses stay short.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// Returns the first change of the zone's clock at or after a time.
fn change_near(rules: &TimeZone, at: Timestamp) -> Option<Timestamp> {
    let before = at.checked_sub(Span::new().hours(24)).ok()?;
    let around = rules.following(before).map(|change| change.timestamp()).take(4);
    around.min_by_key(|change| change.as_second().abs_diff(at.as_second()))
}

/// Returns the kind of a time's field and the text in it: local, or with its offset where the local one comes twice.
fn field_value(zone: &Zone, at: Timestamp) -> (&'static str, String) {
    let local = at.to_zoned_datetime(zone.rules().clone());
    let comes_twice = matches!(
        zone.rules().to_ambiguous_timestamp(local.datetime()).offset(),
        AmbiguousOffset::Fold { .. }
    );
    let (kind, form) =
        if comes_twice { ("text", "%Y-%m-%dT%H:%M:%S%:z") } else { ("datetime-local", "%Y-%m-%dT%H:%M:%S") };
    (kind, local.strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(zone: &str, since: Option<&str>, before: Option<&str>) -> Result<TimeSpan, PageError> {
        TimeSpan::read(&Zone::named(zone).unwrap(), since, before)
    }

    fn since(zone: &str, text: &str) -> (String, Vec<String>) {
        let span = read(zone, Some(text), None).unwrap();
        (span.since.unwrap().to_string(), span.notes)
    }

    #[test]
    fn local_times_become_instants_in_every_zone() {
        for (zone, text, instant) in [
            ("UTC", "2026-11-27T08:00", "2026-11-27T08:00:00Z"),
            ("UTC", "2026-11-27 08:00:05", "2026-11-27T08:00:05Z"),
            ("UTC", "2026-11-27", "2026-11-27T00:00:00Z"),
            ("Europe/Berlin", "2026-11-27T08:00", "2026-11-27T07:00:00Z"),
            ("Asia/Kathmandu", "2026-11-27T08:00", "2026-11-27T02:15:00Z"),
            ("America/St_Johns", "2026-07-01T00:00", "2026-07-01T02:30:00Z"),
            ("Pacific/Kiritimati", "2026-11-27T08:00", "2026-11-26T18:00:00Z"),
            ("Europe/Berlin", "2026-11-27T08:00:00-05:00", "2026-11-27T13:00:00Z"),
            ("Europe/Berlin", "2026-11-27T08:00:00Z", "2026-11-27T08:00:00Z"),
        ] {
            assert_eq!(since(zone, text), (instant.to_owned(), Vec::new()), "{text} in {zone}");
        }
    }

    #[test]
    fn an_hour_that_comes_twice_is_taken_whole() {
        let text = Some("2026-10-25T02:30");
        let begins = read("Europe/Berlin", text, None).unwrap();
        assert_eq!(begins.since.unwrap().to_string(), "2026-10-25T00:30:00Z");
        assert!(begins.notes[0].contains("comes twice in Europe/Berlin"), "{:?}", begins.notes);
        let ends = read("Europe/Berlin", None, text).unwrap();
        assert_eq!(ends.before.unwrap().to_string(), "2026-10-25T01:30:00Z");
        assert_eq!(ends.notes.len(), 1);
        let exact = since("Europe/Berlin", "2026-10-25T02:30:00+01:00");
        assert_eq!(exact, ("2026-10-25T01:30:00Z".to_owned(), Vec::new()));
    }

    #[test]
    fn an_hour_that_never_comes_is_the_moment_of_the_change() {
        for (zone, text, change) in [
            ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:00:00Z"),
            ("America/New_York", "2026-03-08T02:00", "2026-03-08T07:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:30:00Z"),
            // A whole day was left out.
            ("Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00:00Z"),
        ] {
            let (instant, notes) = since(zone, text);
            assert_eq!(instant, change, "{text} in {zone}");
            assert!(notes[0].contains("never comes"), "{notes:?}");
        }
    }

    #[test]
    fn a_field_holds_what_gives_the_same_time_again() {
        for zone in ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"] {
            let zone = Zone::named(zone).unwrap();
            let mut at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            for _ in 0..20_000 {
                let (_, text) = field_value(&zone, at);
                let again = TimeSpan::read(&zone, Some(&text), None).unwrap();
                assert_eq!((again.since, again.notes.len()), (Some(at), 0), "{text}");
                at = at.checked_add(Span::new().minutes(27)).unwrap();
            }
        }
    }

    #[test]
    fn what_is_no_time_or_no_span_is_refused() {
        for text in
            ["yesterday", "25:00", "2026-02-30T00:00", "2026-13-01", "-1", "2026-11-27T08:00:00+99:00"]
        {
            assert!(read("UTC", Some(text), None).is_err(), "{text}");
        }
        assert!(read("UTC", Some("2026-11-27T09:00"), Some("2026-11-27T09:00")).is_err());
        assert!(read("UTC", Some("2026-11-27T09:00"), Some("2026-11-27T09:01")).is_ok());
    }
}
