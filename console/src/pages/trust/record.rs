//! One dimension: its standing now or at a past position, its months, its history, and what an operator may do.

use bitacora_api::{BreakerStateAnswer, DimensionAnswer, TrustAnswer, TrustRecordAnswer, paths};
use maud::{Markup, html};

use super::acts::PROBE_HOURS;
use super::{history, months};
use crate::command_line::CommandLine;
use crate::components::{
    Fact, act_fields, dimension_fields, dimension_of, dimension_parts, dimension_query, dimension_words,
    facts, hours_field, moment, not_told, part_or_reason, probed_from, quoted, standing_badge, text,
    verdict_badge,
};
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Makes the page.
pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let of = dimension_of(&visit.query)?;
    let at = visit.query.get("at");
    let named = dimension_query(&of);
    let query =
        format!("{named}{}", at.map(|at| format!("&at={}", paths::percent_encoded(at))).unwrap_or_default());
    let answered = visit.get::<TrustRecordAnswer>(paths::TRUST_RECORD, &[], &query).await?;
    let record = &answered.value;
    let chart = part_or_reason(visit, months::chart(visit, &named).await)?;
    let (table, next) = match history::table(visit, &of).await {
        Err(error) if error.is_told_on(visit) => (Err(not_told(&error)), None),
        told => told.map(|(table, next)| (Ok(table), next))?,
    };
    let content = html! {
        section #record data-fresh { (standing(visit, record, at)) }
        (past_form(visit, &of, at))
        (chart)
        h2 { "History" }
        @match &table { Ok(table) => (table.markup()), Err(reason) => (reason) }
        @if let Some(next) = &next {
            nav.paging aria-label="Pages" { a rel="next" href=(format!("{}{}", visit.path, visit.query.with("until", Some(next)))) { "Older outcomes" } }
        }
        @if visit.may_govern() && at.is_none() { (acts(visit, record)?) }
    };
    let mut page = Page::new(Section::Trust, quoted(&dimension_words(&of)), content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::TRUST_RECORD, &[], &query));
    page.command = Some(command(visit, &of));
    page.table = table.ok();
    page.is_cut = next.is_some();
    Ok(page)
}

fn command(visit: &Visit, of: &DimensionAnswer) -> String {
    let known = dimension_parts(of).filter(|(_, value)| *value != "-");
    let command = known.fold(CommandLine::new(visit, "trust show"), |command, (name, value)| {
        command.option(&name.replace('_', "-"), Some(value))
    });
    command.line() + if of.workspace.is_none() { " --all-workspaces" } else { "" }
}

fn standing(visit: &Visit, record: &TrustRecordAnswer, at: Option<&str>) -> Markup {
    let trust = &record.record.trust;
    html! {
        @if let Some(at) = at {
            p.notice { "As it stood after position " (text(at)) ", " (moment(&visit.zone, &record.evaluated_at)) ". "
                a href=(format!("{}{}", visit.path, visit.query.with("at", None))) { "Now" } }
        }
        (facts([
            Fact::new("Standing", html! { (standing_badge(&trust.standing)) " " span.quiet-text { (text(&trust.standing_reason.replace(['_', '-'], " "))) } }),
            Fact::new("Score, and its threshold", score(trust)),
            Fact::new("Went well", html! { (trust.approvals) " (" (record.record.auto_approvals) " without a person)" }),
            Fact::new("Rejected", html! { (trust.rejections) }),
            Fact::new("Failed", html! { (trust.failures) " (" (trust.recent_failures) " lately)" }),
            Fact::new("Streak", html! { (trust.streak) }),
            Fact::new("Breaker", breaker(visit, &record.breaker)),
            trust.last_updated.as_deref().and_then(|time| Fact::new("Last outcome", moment(&visit.zone, time))),
        ]))
    }
}

fn score(trust: &TrustAnswer) -> Markup {
    html! {
        strong { (text(&trust.score)) }
        @if let Some(threshold) = &trust.threshold {
            " / " (text(threshold)) " "
            meter min="0" max="1" value=(trust.score) title=(format!("{} of 1; the threshold is {threshold}", trust.score)) {}
        }
    }
}

fn breaker(visit: &Visit, breaker: &BreakerStateAnswer) -> Markup {
    html! {
        (verdict_badge(&breaker.state))
        @if let (Some(bad), Some(outcomes)) = (breaker.bad, breaker.outcomes) { " " (bad) " of " (outcomes) " failed" }
        @if let Some(settings) = &breaker.settings { " (opens at " (settings.failure_threshold) " of " (settings.window) ")" }
        @if let Some(until) = &breaker.cooldown_until { br; (probed_from(&visit.zone, until)) }
        @if let Some(good) = breaker.good_probes { br; (good) " probes went well" }
    }
}

/// A form that asks for the record at a past position.
fn past_form(visit: &Visit, of: &DimensionAnswer, at: Option<&str>) -> Markup {
    html! {
        form.filters.compact method="get" action=(visit.page(&["trust", "record"])) {
            (dimension_fields(of))
            label { "After position " input name="at" inputmode="numeric" value=(at.unwrap_or_default()); }
            button.quiet { "Show as it stood" }
        }
    }
}

fn acts(visit: &Visit, record: &TrustRecordAnswer) -> Result<Markup, PageError> {
    let trust = &record.record.trust;
    let of = &record.record.dimension;
    let count = |name: &str, label: &str, value: u64| {
        html! {
            label { (label) " " input.short type="number" min="0" name=(name) value=(value) required; }
        }
    };
    let reason = html! { label { "Reason " input name="reason" required; } };
    let form = |verb: &str, fields: Markup, button: &str| -> Result<Markup, PageError> {
        Ok(html! {
            form.stacked method="post" action=(visit.page(&["trust", "record", verb])) {
                (act_fields(visit)?) (dimension_fields(of)) (fields) (reason)
                button { (button) }
            }
        })
    };
    let counts = html! { div.row {
        (count("approvals", "Went well", trust.approvals)) (count("rejections", "Rejected", trust.rejections))
        (count("failures", "Failed", trust.failures)) (count("streak", "Streak", trust.streak))
    } };
    let times = html! {
        input type="hidden" name="from" value=(record.evaluated_at);
        (hours_field("For", &PROBE_HOURS, 1))
    };
    Ok(html! {
        h2 { "Act on this dimension" }
        div.cards {
            section.card { h3 { "Set its counts" }
                p.note { "The score follows from the counts. These replace what was observed." }
                (form("set", counts, "Set the counts")?) }
            section.card { h3 { "Probe it" }
                p.note { "Calls that its trust would deny are reviewed for a while, so that it can recover." }
                (form("probe", times, "Have it reviewed")?) }
            @if record.breaker.state != "closed" {
                section.card { h3 { "Close its breaker" }
                    p.note { "Calls run again at once, as far as the other checks let them." }
                    (form("close", Markup::default(), "Close the breaker")?) }
            }
        }
    })
}
