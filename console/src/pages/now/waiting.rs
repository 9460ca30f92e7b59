//! The things that wait for somebody: approvals that wait, open breakers, budgets near their end.

use bitacora_api::{ApprovalList, BreakerAnswer, BreakerList, BudgetList, paths};
use maud::{Markup, html};

use crate::components::{
    budget_badge, dimension_address, from_now, is_near_its_end, name, on_context, probed_from, used_part,
};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Items of a list that are named.
const NAMED: usize = 4;
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
                p { "The oldest was asked " (from_now(&visit.zone, &oldest.asked)) " and expires " (from_now(&visit.zone, &oldest.expires)) "." }
                ul.plain { @for approval in list.approvals.iter().take(NAMED) {
                    li { a href=(visit.page(&["approvals", &approval.id])) { (name(&approval.tool)) }
                        @if let Some(context) = &approval.context { (on_context(context)) }
                        @if let Some(agent) = &approval.agent { " for agent " (name(agent)) } }
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
            @if count == 0 { p.empty { "No tool fails too often." } }
            ul.plain { @for breaker in open.breakers.iter().take(NAMED) { (one_breaker(visit, breaker)) } }
            @if !half_open.is_empty() { p.note { (half_open.len()) " half open: single calls try whether it works again" } }
        }
    }
}

fn one_breaker(visit: &Visit, breaker: &BreakerAnswer) -> Markup {
    let of = &breaker.dimension;
    html! { li {
        a href=(dimension_address(visit, of)) { (name(&of.tool)) } (on_context(&of.context))
        ": " (breaker.bad) " of the last " (breaker.outcomes) " calls failed"
        @if let Some(until) = &breaker.cooldown_until { "; " (probed_from(&visit.zone, until)) }
    } }
}

fn of_budgets(visit: &Visit, list: &BudgetList) -> Markup {
    let mut near: Vec<_> = list.budgets.iter().filter(|budget| is_near_its_end(budget)).collect();
    near.sort_by(|one, other| used_part(other).total_cmp(&used_part(one)));
    html! {
        div.card.count .calls[!near.is_empty()] {
            h2 { a href=(visit.page(&["costs", "budgets"])) { strong { (number(near.len(), list.next.is_some())) }
                @if near.len() == 1 { " budget is near its end" } @else { " budgets are near their end" } } }
            @if near.is_empty() { p.empty { (if list.budgets.is_empty() { "No budget is set." } else { "Every budget has room." }) } }
            ul.plain { @for budget in near.iter().take(NAMED) {
                li { (name(&budget.budget)) @if let Some(agent) = &budget.agent { " of agent " (name(agent)) } " " (budget_badge(budget)) }
            } }
        }
    }
}
