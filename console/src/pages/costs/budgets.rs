//! Budgets: spent, reserved and left of each.

use bitacora_api::{BudgetAnswer, BudgetList, SpendAnswer, paths};
use maud::{Markup, html};

use crate::components::{Tone, badge, filter_field, moment, next_link, text, whole};
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The budgets that the page of costs shows, those nearest to their end.
const SHOWN_BUDGETS: usize = 6;
/// The budgets that are looked through for them.
const LOOKED_AT: &str = "?limit=1000";
/// The part from which on a budget is near its end.
const NEAR: f64 = 0.8;

/// One limit of a budget, in one unit.
struct Used {
    unit: &'static str,
    spent: f64,
    reserved: f64,
    limit: f64,
}

impl Used {
    /// Returns the part that is spent or reserved.
    fn part(&self) -> f64 {
        if self.limit > 0.0 { (self.spent + self.reserved) / self.limit } else { 1.0 }
    }

    fn show(&self, amount: f64) -> String {
        match self.unit {
            "USD" => crate::components::dollars(amount),
            "s" => format!("{} s", whole(amount)),
            unit => format!("{} {unit}", whole(amount)),
        }
    }
}

/// One amount of a budget.
type AmountOf = fn(&SpendAnswer) -> Option<f64>;

/// Returns each limit of a budget with what is used of it, the one nearest to its end first.
fn used(budget: &BudgetAnswer) -> Vec<Used> {
    let units: [(&'static str, AmountOf); 5] = [
        ("USD", |amounts| amounts.cost_usd.as_deref()?.parse().ok()),
        ("tokens", |amounts| Some(amounts.tokens? as f64)),
        ("calls", |amounts| Some(amounts.calls? as f64)),
        ("steps", |amounts| Some(amounts.steps? as f64)),
        ("s", |amounts| Some(amounts.duration_ms? as f64 / 1000.0)),
    ];
    let all = units.into_iter().filter_map(|(unit, amount)| {
        let limit = amount(&budget.limits)?;
        let of = |amounts| amount(amounts).unwrap_or(0.0);
        Some(Used { unit, spent: of(&budget.spent), reserved: of(&budget.reserved), limit })
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by(|one, other| other.part().total_cmp(&one.part()));
    all
}

fn nearest(budget: &BudgetAnswer) -> f64 {
    used(budget).first().map_or(0.0, Used::part)
}

/// Returns the budgets nearest to their end; nothing of a ledger that is not governed.
pub(super) async fn near_their_end(visit: &Visit) -> Result<Markup, PageError> {
    let asked = visit.get::<BudgetList>(paths::BUDGETS, &[], LOOKED_AT).await;
    let Some(answered) = PageError::if_told(asked)? else { return Ok(Markup::default()) };
    let mut list = answered.value.budgets;
    list.sort_by(|one, other| nearest(other).total_cmp(&nearest(one)));
    Ok(html! {
        section #cost-budgets data-fresh {
            h2 { "Budgets " a.small href=(visit.page(&["costs", "budgets"])) { "all" } }
            @if list.is_empty() { p.empty { "No budget is set: nothing stops spending. " code { "bitacora budgets set" } " sets one." } }
            div.cards { @for budget in list.iter().take(SHOWN_BUDGETS) { div.card {
                h3.first { (name_of(budget)) " " (state(budget)) }
                @for used in used(budget) { (bar(&used)) }
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
        columns: vec![
            TableColumn::text("Budget"),
            TableColumn::text("Of"),
            TableColumn::text("Period"),
            TableColumn::text("State"),
            TableColumn::text("Used"),
            TableColumn::text("At the end"),
            TableColumn::text("Amounts count until"),
        ],
        rows: answered.value.budgets.iter().map(|budget| row(visit, budget)).collect(),
        empty: "No budget is set that these filters let through.",
    };
    let content = html! {
        form.filters.compact method="get" action=(visit.page(&["costs", "budgets"])) {
            (filter_field(visit, "budget", "Budget")) (filter_field(visit, "agent", "Agent")) button { "Filter" }
        }
        section #budgets data-fresh { (table.markup()) (next_link(visit, answered.value.next.as_deref())) }
    };
    let mut page = Page::new(Section::Costs, "Budgets", content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::BUDGETS, &[], &query));
    page.command = Some(format!("bitacora --ledger {} budgets", visit.ledger));
    page.table = Some(table);
    Ok(page)
}

fn row(visit: &Visit, budget: &BudgetAnswer) -> Vec<TableCell> {
    let used = used(budget);
    let words: Vec<_> = used.iter().map(sentence).collect();
    let ends = match budget.on_exceed.as_str() {
        "pause" => "calls wait for a person",
        "deny" => "calls are denied",
        "abort" => "the run ends",
        other => other,
    };
    vec![
        TableCell::new(&budget.budget, name_of(budget)),
        TableCell::text(budget.scope.to_string()),
        TableCell::text(budget.period.replace('_', " ")),
        TableCell::new(if budget.exhausted { "exhausted" } else { "open" }, state(budget)),
        TableCell::new(words.join("; "), html! { @for used in &used { (bar(used)) } }),
        TableCell::text(ends),
        budget
            .resets_at
            .as_deref()
            .map_or_else(|| TableCell::text(""), |time| TableCell::new(time, moment(&visit.zone, time))),
    ]
}

fn name_of(budget: &BudgetAnswer) -> Markup {
    let of = [budget.agent.as_deref(), budget.window.as_deref()];
    html! {
        (text(&budget.budget))
        @for of in of.into_iter().flatten() { " " span.quiet-text { (text(of)) } }
    }
}

fn state(budget: &BudgetAnswer) -> Markup {
    if budget.exhausted {
        badge("exhausted", Tone::Bad)
    } else if nearest(budget) >= NEAR {
        badge("near its end", Tone::Waits)
    } else {
        badge("open", Tone::Good)
    }
}

fn sentence(used: &Used) -> String {
    let reserved =
        if used.reserved > 0.0 { format!(", {} reserved", used.show(used.reserved)) } else { String::new() };
    format!("{} of {} spent{reserved}", used.show(used.spent), used.show(used.limit))
}

fn bar(used: &Used) -> Markup {
    let sentence = sentence(used);
    html! {
        div.used {
            meter min="0" max="1" high=(NEAR) optimum="0" value=(format!("{:.3}", used.part().min(1.0))) aria-label=(sentence) {}
            " " span { (sentence) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_as_near_to_its_end_as_its_nearest_limit() {
        let budget: BudgetAnswer = serde_json::from_str(
            r#"{"budget":"b","scope":{},"limits":{"costUsd":"50","calls":10},"period":"day","onExceed":"deny","counted":"together",
                "spent":{"costUsd":"5","calls":8},"reserved":{"calls":1},"left":{},"exhausted":false}"#,
        )
        .unwrap();
        let used = used(&budget);
        assert_eq!(sentence(&used[0]), "8 calls of 10 calls spent, 1 calls reserved");
        assert_eq!(sentence(&used[1]), "$5.00 of $50.00 spent");
        assert!((nearest(&budget) - 0.9).abs() < 1e-9);
    }
}
