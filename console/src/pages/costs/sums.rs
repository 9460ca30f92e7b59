//! The table of sums.

use bitacora_api::{CostAnswer, CostList, SpendingAnswer};
use maud::{Markup, html};

use crate::components::{grouped, name, run_link, session_link, spent, text};
use crate::limits::{CSV_ROWS, PAGE_ROWS};
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// Returns the sums of one group: days by date, everything else the dearest first.
pub(super) fn table(visit: &Visit, by: &str, name: &'static str, list: &CostList) -> Table {
    let mut sums: Vec<&CostAnswer> = list.costs.iter().collect();
    if by == "day" {
        sums.reverse();
    } else {
        sums.sort_by(|one, other| amount(&other.spending).total_cmp(&amount(&one.spending)));
    }
    let is_file = visit.query.get("format") == Some("csv");
    sums.truncate(if is_file { CSV_ROWS } else { PAGE_ROWS });
    let all = amount(&list.total);
    Table {
        caption: format!("Costs by {by}"),
        columns: vec![
            TableColumn::text(name),
            TableColumn::number("US dollars"),
            TableColumn::number("Share"),
            TableColumn::number("Model calls"),
            TableColumn::number("Tool calls"),
            TableColumn::number("Tokens in"),
            TableColumn::number("Tokens out"),
            TableColumn::number("Cache read"),
            TableColumn::number("Without a price"),
        ],
        rows: sums.into_iter().map(|sum| row(visit, by, sum, all)).collect(),
        empty: "Nothing was spent here.",
    }
}

/// Returns how many sums are not shown.
pub(super) fn more_note(list: &CostList) -> Markup {
    let hidden = list.costs.len().saturating_sub(PAGE_ROWS);
    html! { @if hidden > 0 { p.note { (grouped(hidden)) " more are in the CSV file." } } }
}

fn row(visit: &Visit, by: &str, sum: &CostAnswer, all: f64) -> Vec<TableCell> {
    let spending = &sum.spending;
    let value = value(by, sum);
    let share = if all > 0.0 { amount(spending) / all } else { 0.0 };
    vec![
        TableCell::new(value, name_of(visit, by, value)),
        TableCell::usd(spent(spending)),
        TableCell::new(
            format!("{share:.4}"),
            html! {
                meter min="0" max="1" value=(format!("{share:.3}")) {} " " (format!("{:.1} %", share * 100.0))
            },
        ),
        TableCell::count(spending.model_calls),
        TableCell::count(spending.tool_calls),
        digits(&spending.tokens_in),
        digits(&spending.tokens_out),
        digits(&spending.cache_read),
        TableCell::count(spending.without_cost),
    ]
}

/// Returns a group's name, which leads to where more is told.
fn name_of(visit: &Visit, by: &str, value: &str) -> Markup {
    if value == "-" {
        return html! { span.quiet-text { "not known" } };
    }
    let filtered = |field| format!("{}{}", visit.page(&["costs"]), visit.query.with(field, Some(value)));
    match by {
        "session" => session_link(visit, value),
        "run" => run_link(visit, value),
        "agent" | "model" | "task" | "tool" => html! { a href=(filtered(by)) { (name(value)) } },
        "day" => text(value),
        _ => name(value),
    }
}

fn value<'a>(by: &str, sum: &'a CostAnswer) -> &'a str {
    let value = match by {
        "day" => &sum.day,
        "agent" => &sum.agent,
        "model" => &sum.model,
        "task" => &sum.task,
        "tool" => &sum.tool,
        "session" => &sum.session,
        "run" => &sum.run,
        _ => &sum.case,
    };
    value.as_deref().unwrap_or("-")
}

fn amount(of: &SpendingAnswer) -> f64 {
    of.cost_usd.parse().unwrap_or_default()
}

fn digits(of: &str) -> TableCell {
    TableCell::new(of, html! { (grouped(of)) })
}
