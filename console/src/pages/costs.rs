//! Costs: what models and tools took, by day and by any part of a call, and the budgets against it.

mod budgets;
mod days;
mod sums;

use std::fmt::Write as _;

use bitacora_api::{CostList, SpendingAnswer, paths};
use maud::{Markup, html};

use crate::command_line::CommandLine;
use crate::components::{Fact, NOTHING, facts, filter_field, grouped, not_told, short_usd, spent};
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// The groups that the page sums up by, with their words.
const GROUPS: [(&str, &str); 8] = [
    ("day", "Day"),
    ("agent", "Agent"),
    ("model", "Model"),
    ("task", "Task"),
    ("tool", "Tool"),
    ("session", "Session"),
    ("run", "Run"),
    ("case", "Case"),
];
/// Returns the words of those groups.
pub(super) fn groups() -> Vec<&'static str> {
    GROUPS.map(|(by, _)| by).to_vec()
}

/// The filters of the page.
pub(super) const FILTERS: [&str; 8] = ["since", "before", "agent", "model", "task", "tool", "session", "run"];

/// Makes the page at an address of this part.
pub(crate) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => costs(visit).await,
        ["budgets"] => budgets::show(visit).await,
        _ => Err(PageError::NoSuchPage),
    }
}

async fn costs(visit: &Visit) -> Result<Page, PageError> {
    let asked = visit.query.get("by").unwrap_or("agent");
    let (by, name) = GROUPS.into_iter().find(|(by, _)| *by == asked).unwrap_or(("agent", "Agent"));
    let filters = visit.query.query_of(&FILTERS);
    let query = with_group(by, &filters);
    let by_days = with_group("day,model", &filters);
    let asked = tokio::try_join!(
        visit.get::<CostList>(paths::COSTS, &[], &query),
        visit.get::<CostList>(paths::COSTS, &[], &by_days),
        budgets::near_their_end(visit),
    );
    let (answered, of_days, near) = match asked {
        Err(error) if error.is_told_on(visit) => return budgets_alone(visit, &not_told(&error)).await,
        asked => asked?,
    };
    let of_days = of_days.value;
    let table = sums::table(visit, by, name, &answered.value);
    let content = html! {
        (filter_form(visit))
        section #cost-totals data-fresh {
            (totals(&answered.value.total))
            @if let Some(outside) = answered.value.outside.filter(|outside| *outside > 0) {
                p.note { "Nothing was spent on these days; " (grouped(outside)) " calls count on others." }
            }
        }
        (near)
        section #cost-days data-fresh { (days::chart(&of_days)) (days::tokens_chart(&of_days)) }
        section #cost-sums data-fresh {
            nav.tabs aria-label="Summed up by" { @for (part, words) in GROUPS {
                a href=(format!("{}{}", visit.path, visit.query.with("by", Some(part)))) aria-current=[(part == by).then_some("true")] { (words) }
            } }
            (table.markup())
            (sums::more_note(&answered.value))
        }
    };
    let mut page = Page::new(Section::Costs, "Costs", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::COSTS, &[], &query));
    page.command = Some(CommandLine::new(visit, "costs").option("by", Some(by)).line());
    page.table = Some(table);
    Ok(page)
}

/// Makes the page where it is not known what was spent: budgets count for themselves.
async fn budgets_alone(visit: &Visit, reason: &Markup) -> Result<Page, PageError> {
    let near = budgets::near_their_end(visit).await?;
    let content = html! { section #not-known data-fresh data-poll { (reason) } (near) };
    Ok(Page::new(Section::Costs, "Costs", content))
}

fn with_group(by: &str, filters: &str) -> String {
    let mut query = format!("?by={by}");
    if let Some(filters) = filters.strip_prefix('?') {
        // Nothing that is written to memory fails.
        let _infallible = write!(query, "&{filters}");
    }
    query
}

fn totals(total: &SpendingAnswer) -> Markup {
    facts([
        Fact::new(
            "Spent",
            html! { strong.figure { (spent(total).map_or_else(|| NOTHING.to_owned(), short_usd)) } },
        ),
        Fact::new("Model calls", html! { (grouped(total.model_calls)) }),
        Fact::new("Tool calls with usage", html! { (grouped(total.tool_calls)) }),
        Fact::new("Tokens in, out", html! { (grouped(&total.tokens_in)) ", " (grouped(&total.tokens_out)) }),
        Fact::new(
            "Cache tokens read, written",
            html! { (grouped(&total.cache_read)) ", " (grouped(&total.cache_write)) },
        ),
        Fact::new("Without a price", unpriced(total)),
    ])
}

/// Returns what the sum is without.
fn unpriced(total: &SpendingAnswer) -> Markup {
    html! {
        @if total.without_cost == 0 { "none" } @else {
            (grouped(total.without_cost)) " calls of unknown cost"
            @if let Some(tokens) = &total.unpriced_tokens {
                br; span.quiet-text { (grouped(&tokens.tokens_in)) " tokens in, " (grouped(&tokens.tokens_out)) " out" }
            }
        }
    }
}

fn filter_form(visit: &Visit) -> Markup {
    let day = |name: &str, label: &str| {
        html! {
            label { (label) " " input type="date" name=(name) value=(visit.query.get(name).unwrap_or_default()); }
        }
    };
    html! {
        form.filters.compact method="get" action=(visit.page(&["costs"])) {
            @if let Some(by) = visit.query.get("by") { input type="hidden" name="by" value=(by); }
            (day("since", "From")) (day("before", "Before"))
            (filter_field(visit, "agent", "Agent")) (filter_field(visit, "model", "Model"))
            (filter_field(visit, "task", "Task")) (filter_field(visit, "tool", "Tool"))
            (filter_field(visit, "session", "Session"))
            button { "Show" }
        }
    }
}
