//! Decisions of the last hour, minute by minute.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bitacora_api::{DecisionMinuteAnswer, DecisionMinuteList, paths};
use jiff::Timestamp;
use maud::{Markup, html};

use crate::components::{Chart, ChartKind, Series, SeriesColour, grouped, whole};
use crate::form::query;
use crate::page_error::PageError;
use crate::visit::Visit;

/// The minutes that are shown.
const MINUTES: i64 = 60;
const SECONDS: i64 = 60;
/// The verdicts `allow`, `review` and `deny` in words, with their colours.
const NAMES: [(&str, SeriesColour); 3] = [
    ("allowed", SeriesColour::Green),
    ("for a person", SeriesColour::Orange),
    ("denied", SeriesColour::Purple),
];
/// The place of hour and minute in a time that is shown.
const HOUR_AND_MINUTE: std::ops::Range<usize> = 11..16;

/// Decisions by verdict of each minute.
#[derive(Debug, Default)]
struct Counts {
    by_minute: BTreeMap<i64, [u64; 3]>,
    sums: [u64; 3],
}

impl Counts {
    fn of(list: &DecisionMinuteList) -> Self {
        let mut counts = Self::default();
        for DecisionMinuteAnswer { minute, allow, review, deny } in &list.minutes {
            let Ok(minute) = minute.parse::<Timestamp>() else { continue };
            let of_minute = [*allow, *review, *deny];
            counts.by_minute.insert(minute.as_second().div_euclid(SECONDS), of_minute);
            counts.sums.iter_mut().zip(of_minute).for_each(|(sum, count)| *sum += count);
        }
        counts
    }
}

/// The minutes that are shown now.
fn minutes() -> RangeInclusive<i64> {
    let last = Timestamp::now().as_second().div_euclid(SECONDS);
    last - MINUTES + 1..=last
}

/// Returns the query for a time span that begins with this minute.
fn since(minute: i64) -> Result<String, PageError> {
    let since = Timestamp::from_second(minute * SECONDS);
    let since = since.map_err(|error| PageError::Field(error.to_string()))?.to_string();
    Ok(query([("since", since.as_str())].into_iter()))
}

/// Returns the path of the interface that tells the decisions that are shown now.
pub(super) fn path(visit: &Visit) -> Result<String, PageError> {
    Ok(visit.api(paths::DECISIONS, &[], &since(*minutes().start())?))
}

pub(super) async fn part(visit: &Visit) -> Result<Markup, PageError> {
    let shown = minutes();
    let asked = since(*shown.start())?;
    let counts = Counts::of(&visit.get::<DecisionMinuteList>(paths::DECISIONS, &[], &asked).await?.value);
    let [allowed, reviewed, denied] = counts.sums;
    let all: u64 = counts.sums.iter().sum();
    let chart = chart(visit, &counts, shown);
    let calls = visit.page(&["calls"]);
    Ok(html! {
        h2 { a href=(calls) { "Decisions of the last " (MINUTES) " minutes: " (grouped(all)) } }
        p.note {
            (grouped(allowed)) " allowed · " (grouped(reviewed)) " for a person · " (grouped(denied)) " denied. "
            "Only what this service decided in that time counts here, no imported call and no earlier one: " a href=(calls) { "all calls" } "."
        }
        @if all > 0 { (chart.markup()) }
    })
}

fn chart(visit: &Visit, counts: &Counts, minutes: RangeInclusive<i64>) -> Chart {
    let minutes: Vec<i64> = minutes.collect();
    let label = |minute: &i64| {
        let time = Timestamp::from_second(minute * SECONDS).map(|time| time.to_string()).unwrap_or_default();
        visit.zone.show(&time).get(HOUR_AND_MINUTE).unwrap_or_default().to_owned()
    };
    let count = |minute: &i64, place: usize| {
        counts.by_minute.get(minute).and_then(|counts| counts.get(place)).map_or(0.0, |count| *count as f64)
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
