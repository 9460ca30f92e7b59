//! The things that wait for somebody: approvals that wait, open breakers, budgets near their end.

use bitacora_api::{ApprovalList, BreakerAnswer, BreakerList, BudgetAnswer, BudgetList, SpendAnswer, paths};
use maud::{Markup, html};

use crate::components::{Tone, badge, from_now, text};
use crate::form::query;
use crate::page_error::PageError;
use crate::visit::Visit;

/// Items of a list that are named.
const NAMED: usize = 4;
/// The share of a limit from which a budget is near its end, in hundredths.
const NEAR_END: f64 = 80.0;
/// Budgets that are looked at.
const BUDGETS: &str = "?limit=200";

pub(super) async fn part(visit: &Visit) -> Result<Markup, PageError> {
    let (approvals, open, half_open, budgets) = tokio::join!(
        visit.get::<ApprovalList>(paths::APPROVALS, &[], "?limit=100"),
        visit.get::<BreakerList>(paths::BREAKERS, &[], "?state=open&limit=100"),
        visit.get::<BreakerList>(paths::BREAKERS, &[], "?state=half_open&limit=100"),
        visit.get::<BudgetList>(paths::BUDGETS, &[], BUDGETS),
    );
    let (approvals, open) = (approvals?.value, open?.value);
    let (half_open, budgets) = (half_open?.value, budgets?.value);
    Ok(html! {
        div.cards {
            (of_approvals(visit, &approvals))
            (of_breakers(visit, &open, &half_open.breakers))
            (of_budgets(visit, &budgets))
        }
    })
}

fn number(count: usize, has_more: bool) -> String {
    if has_more { format!("{count}+") } else { count.to_string() }
}

fn of_approvals(visit: &Visit, list: &ApprovalList) -> Markup {
    let oldest = list.approvals.first();
    html! {
        div.card.count .calls[oldest.is_some()] {
            h2 { a href=(visit.page(&["approvals"])) { strong { (number(list.approvals.len(), list.next.is_some())) }
                @if list.approvals.len() == 1 { " call waits for a person" } @else { " calls wait for a person" } } }
            @if let Some(oldest) = oldest {
                p { "The oldest was asked " (from_now(&visit.zone, &oldest.asked)) ", and lapses " (from_now(&visit.zone, &oldest.expires)) "." }
                ul.plain { @for approval in list.approvals.iter().take(NAMED) {
                    li { a href=(visit.page(&["approvals", &approval.id])) { (text(&approval.tool)) }
                        @if let Some(context) = &approval.context { " " code { (text(context)) } }
                        @if let Some(agent) = &approval.agent { " " span.quiet-text { (text(agent)) } } }
                } }
            } @else { p.empty { "Nothing waits." } }
        }
    }
}

fn of_breakers(visit: &Visit, open: &BreakerList, half_open: &[BreakerAnswer]) -> Markup {
    let count = open.breakers.len();
    html! {
        div.card.count .calls[count > 0] {
            h2 { a href=(visit.page(&["trust"])) { strong { (number(count, open.next.is_some())) }
                @if count == 1 { " breaker is open" } @else { " breakers are open" } } }
            @if count == 0 { p.empty { "Nothing fails too often." } }
            ul.plain { @for breaker in open.breakers.iter().take(NAMED) { (one_breaker(visit, breaker)) } }
            @if !half_open.is_empty() { p.note { (half_open.len()) " half open: tried again call by call" } }
        }
    }
}

fn one_breaker(visit: &Visit, breaker: &BreakerAnswer) -> Markup {
    let of = &breaker.dimension;
    let fields = [
        ("tool", Some(of.tool.as_str())),
        ("context", Some(&of.context)),
        ("model", Some(&of.model)),
        ("task_type", Some(&of.task_type)),
        ("workspace", of.workspace.as_deref()),
    ];
    let named = query(fields.into_iter().filter_map(|(name, value)| Some((name, value?))));
    html! { li {
        a href=(visit.page(&["trust", "record"]) + &named) { (text(&of.tool)) } " " code { (text(&of.context)) }
        " " (breaker.bad) " of " (breaker.outcomes) " failed"
        @if let Some(until) = &breaker.cooldown_until { ", tried again " (from_now(&visit.zone, until)) }
    } }
}

fn of_budgets(visit: &Visit, list: &BudgetList) -> Markup {
    let mut near: Vec<(f64, &BudgetAnswer)> =
        list.budgets.iter().filter_map(|budget| Some((used(budget)?, budget))).collect();
    near.retain(|(used, budget)| *used >= NEAR_END || budget.exhausted);
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    html! {
        div.card.count .calls[!near.is_empty()] {
            h2 { a href=(visit.page(&["costs", "budgets"])) { strong { (number(near.len(), list.next.is_some())) }
                @if near.len() == 1 { " budget is near its end" } @else { " budgets are near their end" } } }
            @if near.is_empty() { p.empty { (if list.budgets.is_empty() { "No budget is set." } else { "All have room." }) } }
            ul.plain { @for (used, budget) in near.iter().take(NAMED) {
                li { (text(&budget.budget))
                    @if let Some(agent) = &budget.agent { " of " (text(agent)) }
                    " " @if budget.exhausted { (badge("spent", Tone::Bad)) } @else { (badge(&format!("{used:.0} % used"), Tone::Waits)) } }
            } }
        }
    }
}

/// Returns the share of its limits that a budget has used, of the unit that is nearest to its end, in hundredths.
fn used(budget: &BudgetAnswer) -> Option<f64> {
    let (limits, left) = (amounts(&budget.limits), amounts(&budget.left));
    let shares = limits.into_iter().zip(left).filter_map(|(limit, left)| {
        let (limit, left) = (limit?, left.unwrap_or_default());
        Some(if limit > 0.0 { 100.0 * (1.0 - left / limit) } else { 100.0 })
    });
    shares.max_by(f64::total_cmp)
}

#[expect(clippy::cast_precision_loss, reason = "shares are shown in whole hundredths")]
fn amounts(of: &SpendAnswer) -> [Option<f64>; 5] {
    let money = of.cost_usd.as_deref().and_then(|amount| amount.parse().ok());
    let count = |number: Option<u64>| number.map(|number| number as f64);
    [money, count(of.tokens), count(of.calls), count(of.steps), count(of.duration_ms)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_as_near_its_end_as_the_scarcest_of_its_units() {
        let budget = |limits: serde_json::Value, left: serde_json::Value| -> BudgetAnswer {
            serde_json::from_value(serde_json::json!({
                "budget": "b", "scope": {}, "limits": limits, "period": "day", "onExceed": "deny", "counted": "together",
                "spent": {}, "reserved": {}, "left": left, "exhausted": false
            }))
            .unwrap()
        };
        let json = |text| serde_json::from_str(text).unwrap();
        assert_eq!(
            used(&budget(json(r#"{"calls":10,"costUsd":"2"}"#), json(r#"{"calls":9,"costUsd":"0.5"}"#))),
            Some(75.0)
        );
        assert_eq!(used(&budget(json(r#"{"calls":0}"#), json("{}"))), Some(100.0));
        assert_eq!(used(&budget(json("{}"), json("{}"))), None);
    }
}
