//! The time span of a list: typed in the viewer's zone, asked for in UTC.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp};
use maud::{Markup, html};

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
enum End {
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

impl End {
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
            |name| Zone::named(name).ok_or_else(|| PageError::Field(format!("`{name}` is no time zone"))),
        )?;
        Self::read(&zone, visit.query.get(End::Since.name()), visit.query.get(End::Before.name()))
    }

    fn read(zone: &Zone, since: Option<&str>, before: Option<&str>) -> Result<Self, PageError> {
        let mut span = Self::default();
        span.since = since.map(|text| span.instant(zone, End::Since, text)).transpose()?;
        span.before = before.map(|text| span.instant(zone, End::Before, text)).transpose()?;
        if span.since.zip(span.before).is_some_and(|(since, before)| before <= since) {
            let text = "no time lies between the two: `before` is not later than `since`".to_owned();
            return Err(PageError::Field(text));
        }
        Ok(span)
    }

    /// Reads a time: with an offset it is meant as it stands, else in the zone. A time that comes twice gives the wider span, and one
    /// that never comes gives the moment of the change.
    fn instant(&mut self, zone: &Zone, end: End, text: &str) -> Result<Timestamp, PageError> {
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Ok(instant);
        }
        let not_read = || {
            let name = end.name();
            PageError::Field(format!(
                "`{text}` is no time for `{name}`; write it as 2026-11-27 08:00, or as 2026-11-27T08:00:00Z"
            ))
        };
        let local: DateTime = text.parse().map_err(|_| not_read())?;
        let ambiguous = zone.rules().to_ambiguous_timestamp(local);
        let name = &zone.name;
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => {}
            AmbiguousOffset::Fold { .. } => self.notes.push(match end {
                End::Since => {
                    format!("{text} comes twice in {name}. The span begins with the first of them.")
                }
                End::Before => {
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
        let chosen = if end == End::Since { ambiguous.earlier() } else { ambiguous.later() };
        chosen.map_err(|_| not_read())
    }

    /// Returns the ends as parameters of the interface.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let both = [(End::Since, self.since), (End::Before, self.before)];
        both.into_iter().filter_map(|(end, at)| Some((end.name(), at?.to_string()))).collect()
    }

    /// Returns `true` if the span has an end.
    pub(crate) fn is_bounded(&self) -> bool {
        self.since.is_some() || self.before.is_some()
    }

    /// Returns the fields of a filter form.
    pub(crate) fn fields(&self, visit: &Visit) -> Markup {
        let field = |end: End, label: &str, at: Option<Timestamp>| {
            let (kind, value) =
                at.map_or(("datetime-local", String::new()), |at| field_value(&visit.zone, at));
            html! { label { (label) " " input name=(end.name()) type=(kind) step="1" value=(value); } }
        };
        html! {
            (field(End::Since, "Since", self.since))
            (field(End::Before, "Before", self.before))
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
            @for note in &self.notes { p.notice role="status" { (crate::components::text(note)) } }
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
