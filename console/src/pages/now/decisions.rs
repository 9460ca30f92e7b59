//! Decisions of the last hour, minute by minute.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bitacora_api::{CallList, paths};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use crate::components::{Chart, ChartKind, Series, SeriesColour, whole};
use crate::form::query;
use crate::page_error::PageError;
use crate::visit::Visit;

/// The minutes that are shown.
const MINUTES: i64 = 60;
/// The most calls that are counted.
const MOST_CALLS: usize = 500;
const SECONDS: i64 = 60;
/// The verdicts with their colours.
const VERDICTS: [&str; 3] = ["allow", "review", "deny"];

/// The same in words.
const NAMES: [(&str, SeriesColour); 3] = [
    ("allowed", SeriesColour::Green),
    ("for a person", SeriesColour::Orange),
    ("denied", SeriesColour::Purple),
];
/// The place of hour and minute in a time that is shown.
const HOUR_AND_MINUTE: std::ops::Range<usize> = 11..16;

/// Decisions by verdict of each minute, the oldest first.
#[derive(Debug, Default)]
struct Counts {
    by_minute: BTreeMap<i64, [u32; 3]>,
    sums: [u32; 3],
}

impl Counts {
    fn add(&mut self, minute: i64, verdict: &str) {
        let Some(place) = VERDICTS.iter().position(|known| *known == verdict) else { return };
        let minute = self.by_minute.entry(minute).or_default();
        for counts in [minute, &mut self.sums] {
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
        }
    }
}

pub(super) async fn part(visit: &Visit) -> Result<Markup, PageError> {
    let now = Timestamp::now();
    let from = now.checked_sub(SignedDuration::from_mins(MINUTES));
    let from = from.map_err(|error| PageError::Field(error.to_string()))?.to_string();
    let limit = MOST_CALLS.to_string();
    let fields = [("recorded_since", from.as_str()), ("limit", limit.as_str())];
    let list = visit.get::<CallList>(paths::CALLS, &[], &query(fields.into_iter())).await?.value;
    let mut counts = Counts::default();
    for call in &list.calls {
        let minute = call.recorded.parse::<Timestamp>().map(|time| time.as_second().div_euclid(SECONDS));
        if let (Ok(minute), Some(decision)) = (minute, &call.decision) {
            counts.add(minute, &decision.verdict);
        }
    }
    let [allowed, reviewed, denied] = counts.sums;
    let last = now.as_second().div_euclid(SECONDS);
    // Where older calls were not counted, the minute of the oldest one is known in part.
    let first = match (&list.next, counts.by_minute.keys().next()) {
        (Some(_), Some(oldest)) => (oldest + 1).min(last),
        _ => last - MINUTES + 1,
    };
    let chart = chart(visit, &counts, first..=last);
    Ok(html! {
        h2 { a href=(visit.page(&["calls"])) { @if list.next.is_some() { "The newest decisions" } @else { "Decisions of the last hour" } } }
        p.note { (allowed) " allowed · " (reviewed) " for a person · " (denied) " denied"
            @if list.next.is_some() { ", of the newest " (list.calls.len()) " calls; there are more in the last hour" } }
        @if counts.sums != [0; 3] { (chart.markup()) }
    })
}

fn chart(visit: &Visit, counts: &Counts, minutes: RangeInclusive<i64>) -> Chart {
    let minutes: Vec<i64> = minutes.collect();
    let label = |minute: &i64| {
        let time = Timestamp::from_second(minute * SECONDS).map(|time| time.to_string()).unwrap_or_default();
        visit.zone.show(&time).get(HOUR_AND_MINUTE).unwrap_or_default().to_owned()
    };
    let count = |minute: &i64, place: usize| {
        counts.by_minute.get(minute).and_then(|counts| counts.get(place)).copied().map_or(0.0, f64::from)
    };
    let series = NAMES.iter().enumerate().map(|(place, (name, colour))| Series {
        name: (*name).to_owned(),
        colour: *colour,
        values: minutes.iter().map(|minute| count(minute, place)).collect(),
    });
    let [allowed, reviewed, denied] = counts.sums;
    Chart {
        id: "decisions-by-minute",
        title: "Decisions a minute".to_owned(),
        description: format!("In these minutes {allowed} allowed, {reviewed} for a person, {denied} denied."),
        kind: ChartKind::StackedBars,
        label_name: "Minute",
        labels: minutes.iter().map(label).collect(),
        series: series.collect(),
        show: whole,
    }
}
