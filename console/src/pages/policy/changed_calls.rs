//! The result of trying a policy: who would have been decided otherwise, by tool, agent and day.

use bitacora_api::{ChangedCall, ChangedGroup, StepsAnswer, WhatIfAnswer};
use maud::{Markup, html};

use crate::components::{
    Chart, ChartKind, Series, SeriesColour, call_link, event_link, grouped, text, verdict_badge, whole,
};
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The positions that a line of the summary names.
const SHOWN_POSITIONS: usize = 6;
/// Verdicts from the mildest to the strictest.
const STRICTNESS: [&str; 3] = ["allow", "review", "deny"];

/// Returns the result of trying a policy, which a heading calls so.
pub(super) fn result(visit: &Visit, policy: &str, tried: &WhatIfAnswer) -> Markup {
    html! {
        section #what-if {
            h2 { "Under " (text(policy)) ", " strong { (grouped(tried.changed)) " of " (grouped(tried.calls)) " calls" } " would be decided differently" }
            (remarks(tried))
            (verdicts(visit, tried).markup())
            (days(&tried.by_day))
            @if tried.changed > 0 {
                div.cards {
                    div { h3 { "By tool" } (groups("Tool", &tried.by_tool).markup()) }
                    div { h3 { "By agent" } (groups("Agent", &tried.by_agent).markup()) }
                }
            }
        }
    }
}

/// Returns the newest calls with another verdict, under a heading.
pub(super) fn examples_section(visit: &Visit, tried: &WhatIfAnswer) -> Markup {
    html! { @if !tried.examples.is_empty() { h2 { "The newest of them" } (examples(visit, tried).markup()) } }
}

fn remarks(tried: &WhatIfAnswer) -> Markup {
    html! {
        p.note {
            "Each call is decided anew with the other rules and trust parameters, and all else as recorded. What people answered, standing consents and the mode are left out. "
            @if tried.complete { "These are all calls." }
            @else if let Some(oldest) = &tried.oldest { "Older calls than position " (text(oldest)) " were not tried." }
        }
        ul.plain {
            @if tried.uncertain > 0 { li { (grouped(tried.uncertain)) " of them depend on something that the record does not tell; the strictest is assumed." } }
            @if tried.unjudged > 0 { li { (grouped(tried.unjudged)) " more calls cannot be decided anew." } }
            @for warning in &tried.warnings { li.warning { "Warning: " (text(&words(warning.get()))) } }
        }
    }
}

/// Returns the members of a warning in one line.
fn words(warning: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(warning).unwrap_or_default();
    let Some(members) = value.as_object() else { return warning.to_owned() };
    let words = members.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{} {value}", name.replace('_', " "))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn verdicts(visit: &Visit, tried: &WhatIfAnswer) -> Table {
    let rows = tried.verdicts.iter().map(|pair| {
        let is_same = pair.before == pair.after;
        vec![
            TableCell::new(&pair.before, verdict_badge(&pair.before)),
            TableCell::new(&pair.after, html! { (verdict_badge(&pair.after)) " " (direction(&pair.before, &pair.after)) }),
            TableCell::count(pair.calls),
            TableCell::count(pair.uncertain),
            TableCell::new(pair.examples.join(" "), html! { @if !is_same { @for position in pair.examples.iter().take(SHOWN_POSITIONS) { (event_link(visit, position)) " " } } }),
        ]
    });
    Table {
        caption: "Calls by verdict".to_owned(),
        columns: vec![
            TableColumn::text("Was"),
            TableColumn::text("Would be"),
            TableColumn::number("Calls"),
            TableColumn::number("Of these, assumed"),
            TableColumn::text("Decisions"),
        ],
        rows: rows.collect(),
        empty: "No call is recorded that could be judged.",
    }
}

fn direction(before: &str, after: &str) -> &'static str {
    let strictness = |verdict: &str| STRICTNESS.iter().position(|known| *known == verdict);
    match strictness(after).cmp(&strictness(before)) {
        std::cmp::Ordering::Greater => "stricter",
        std::cmp::Ordering::Less => "milder",
        std::cmp::Ordering::Equal => "",
    }
}

fn days(days: &[ChangedGroup]) -> Markup {
    let series = |name: &str, colour: SeriesColour, count: fn(&ChangedGroup) -> u64| Series {
        name: name.to_owned(),
        colour,
        values: days.iter().map(|day| count(day) as f64).collect(),
    };
    let changed: u64 = days.iter().map(|day| day.stricter + day.milder).sum();
    Chart {
        id: "changed-by-day",
        title: "Calls by day, UTC".to_owned(),
        description: format!("{changed} calls of {} days would be decided differently.", days.len()),
        kind: ChartKind::StackedBars,
        label_name: "Day",
        labels: days.iter().map(|day| day.name.clone()).collect(),
        series: vec![
            series("as before", SeriesColour::Grey, |day| {
                day.calls.saturating_sub(day.stricter + day.milder)
            }),
            series("more strictly", SeriesColour::Orange, |day| day.stricter),
            series("more mildly", SeriesColour::Blue, |day| day.milder),
        ],
        show: whole,
    }
    .markup()
}

fn groups(name: &'static str, groups: &[ChangedGroup]) -> Table {
    let rows = groups.iter().map(|group| {
        vec![
            TableCell::chosen(&group.name),
            TableCell::count(group.stricter),
            TableCell::count(group.milder),
            TableCell::count(group.calls),
        ]
    });
    Table {
        caption: format!("Changed calls by {}", name.to_lowercase()),
        columns: vec![
            TableColumn::text(name),
            TableColumn::number("Stricter"),
            TableColumn::number("Milder"),
            TableColumn::number("Of calls"),
        ],
        rows: rows.collect(),
        empty: "None.",
    }
}

/// Returns the newest calls with another verdict.
pub(super) fn examples(visit: &Visit, tried: &WhatIfAnswer) -> Table {
    Table {
        caption: "Calls that would be decided differently, the newest first".to_owned(),
        columns: vec![
            TableColumn::number("Decision"),
            TableColumn::text("Call"),
            TableColumn::text("Tool"),
            TableColumn::text("Agent"),
            TableColumn::text("Was"),
            TableColumn::text("Would be"),
            TableColumn::text("Assumed"),
        ],
        rows: tried.examples.iter().map(|call| example(visit, call)).collect(),
        empty: "None.",
    }
}

fn example(visit: &Visit, call: &ChangedCall) -> Vec<TableCell> {
    let assumed = if call.certain { "" } else { "something" };
    vec![
        TableCell::new(&call.position, event_link(visit, &call.position)),
        TableCell::new(&call.call, call_link(visit, &call.call)),
        TableCell::chosen(&call.tool),
        TableCell::maybe_chosen(call.agent.as_deref()),
        TableCell::new(in_words(&call.before), steps(&call.before)),
        TableCell::new(in_words(&call.after), steps(&call.after)),
        TableCell::text(assumed),
    ]
}

fn in_words(steps: &StepsAnswer) -> String {
    let rule = steps.rule.as_ref().map(|rule| format!(", rule {rule}")).unwrap_or_default();
    format!("{} by {}{rule}", steps.verdict, steps.reason_code)
}

fn steps(of: &StepsAnswer) -> Markup {
    html! {
        (verdict_badge(&of.verdict)) " " span.quiet-text { (text(&of.reason_code)) }
        @if let Some(rule) = &of.rule { " " code { (text(rule)) } }
    }
}
