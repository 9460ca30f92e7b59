//! Budgets: spent, reserved and left of each.

use bitacora_api::{BudgetAnswer, BudgetList, paths};
use maud::{Markup, html};

use crate::command_line::CommandLine;
use crate::components::{
    BudgetUse, budget_badge, filter_field, moment_cell, name, next_link, text, used_part, uses,
};
use crate::csv_file::CsvFile;
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::response::ConsoleBody;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The budgets that the page of costs shows, those nearest to their end.
const SHOWN_BUDGETS: usize = 6;
/// The budgets that are looked through for them.
const LOOKED_AT: &str = "?limit=1000";
/// Returns the budgets nearest to their end; nothing of a ledger that is not governed.
pub(super) async fn near_their_end(visit: &Visit) -> Result<Markup, PageError> {
    let asked = visit.get::<BudgetList>(paths::BUDGETS, &[], LOOKED_AT).await;
    let Some(answered) = PageError::if_told(asked)? else { return Ok(Markup::default()) };
    let mut list = answered.value.budgets;
    list.sort_by(|one, other| used_part(other).total_cmp(&used_part(one)));
    Ok(html! {
        section #cost-budgets data-fresh {
            h2 { a href=(visit.page(&["costs", "budgets"])) { "Budgets" } }
            @if list.is_empty() { p.empty { "No budget is set, so nothing stops spending. " code { (CommandLine::new(visit, "budgets set").line()) } " sets one." } }
            div.cards { @for budget in list.iter().take(SHOWN_BUDGETS) { div.card {
                h3 { (name_of(budget)) " " (budget_badge(budget)) }
                @for used in uses(budget) { (used.bar()) }
            } } }
        }
    })
}

/// Makes the page of all budgets.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let query = visit.query.query_of(&["budget", "agent", "after", "limit"]);
    let answered = visit.get::<BudgetList>(paths::BUDGETS, &[], &query).await?;
    let table = Table {
        caption: "Budgets".to_owned(),
        columns: columns(),
        rows: answered.value.budgets.iter().map(|budget| row(visit, budget)).collect(),
        empty: "No budget matches. `bitacora budgets set` sets one.",
    };
    let content = html! {
        form.filters.compact method="get" action=(visit.page(&["costs", "budgets"])) {
            (filter_field(visit, "budget", "Budget")) (filter_field(visit, "agent", "Agent")) button { "Show" }
        }
        section #budgets data-fresh { (table.markup()) (next_link(visit, answered.value.next.as_deref())) }
    };
    let mut page = Page::new(Section::Costs, "Budgets", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::BUDGETS, &[], &query));
    page.command = Some(CommandLine::new(visit, "budgets").line());
    page.table = Some(table);
    page.file = visit.wants_rows_as_file().then(|| file(visit));
    Ok(page)
}

/// Returns every budget that matches as a file.
fn file(visit: &Visit) -> ConsoleBody {
    let path = visit.api(paths::BUDGETS, &[], &visit.query.query_of(&["budget", "agent"]));
    let rows =
        |visit: &Visit, list: &BudgetList| list.budgets.iter().map(|budget| row(visit, budget)).collect();
    CsvFile { columns: columns(), path, rows, next: |list| list.next.as_deref() }.body(visit.clone())
}

fn columns() -> Vec<TableColumn> {
    ["Budget", "Of", "Period", "State", "Used", "When spent", "Resets"].map(TableColumn::text).to_vec()
}

fn row(visit: &Visit, budget: &BudgetAnswer) -> Vec<TableCell> {
    let uses = uses(budget);
    let words: Vec<_> = uses.iter().map(BudgetUse::sentence).collect();
    let ends = match budget.on_exceed.as_str() {
        "pause" => "calls wait for a person",
        "deny" => "calls are denied",
        "abort" => "the run ends",
        other => other,
    };
    vec![
        TableCell::new(&budget.budget, name_of(budget)),
        TableCell::chosen(budget.scope.to_string()),
        TableCell::text(budget.period.replace('_', " ")),
        TableCell::new(if budget.exhausted { "spent" } else { "open" }, budget_badge(budget)),
        TableCell::new(words.join("; "), html! { @for used in &uses { (used.bar()) } }),
        TableCell::text(ends),
        budget
            .resets_at
            .as_deref()
            .map_or_else(|| TableCell::text(""), |time| moment_cell(&visit.zone, time)),
    ]
}

fn name_of(budget: &BudgetAnswer) -> Markup {
    let of = [budget.agent.as_deref(), budget.window.as_deref()];
    html! {
        (text(&budget.budget))
        @for of in of.into_iter().flatten() { " " (name(of)) }
    }
}
