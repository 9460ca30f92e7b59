//! The mode, and the stop of everything.

use bitacora_api::{ActAnswer, ModeAnswer, ModeScopeAnswer, StopRequest, StopsAnswer, paths};
use http::Method;
use maud::{Markup, html};

use crate::components::{act_fields, clipped_name, mode_badge, mode_words, name};
use crate::form::FormFields;
use crate::page::Done;
use crate::page_error::PageError;
use crate::visit::Visit;

/// Suspended agents that are named; of others the number is told.
const NAMED_AGENTS: usize = 5;

/// Returns the mode, and what is stopped.
pub(super) async fn part(visit: &Visit) -> Result<Markup, PageError> {
    let (mode, stops) = tokio::join!(
        visit.get::<ModeAnswer>(paths::MODE, &[], ""),
        visit.get::<StopsAnswer>(paths::PANIC, &[], ""),
    );
    let (mode, stops) = (mode?.value, stops?.value);
    Ok(html! {
        @if stops.panic {
            div.notice.refusal.stopped role="alert" {
                p { strong { "Everything is stopped." } " Every call is denied."
                    @if let Some(reason) = &stops.reason { " Reason: " q { (clipped_name(reason)) } } }
                @if visit.may_govern() { (panic_form(visit, "release", "Let calls run again")?) }
            }
        }
        div.sheet.mode {
            p { (mode_badge(&mode.mode)) " " (mode_words(&mode.mode))
                @if !mode.scopes.is_empty() { " Except for: " } }
            @if !mode.scopes.is_empty() { ul.scopes { @for scoped in &mode.scopes {
                li { (scope_words(&scoped.scope)) " " (mode_badge(&scoped.mode)) }
            } } }
            @if !stops.suspended.is_empty() {
                p { "Suspended: " @for agent in stops.suspended.iter().take(NAMED_AGENTS) {
                        span.agent { (name(&agent.agent)) " " q { (clipped_name(&agent.reason)) } " " } }
                    @if stops.suspended.len() > NAMED_AGENTS { "and " (stops.suspended.len() - NAMED_AGENTS) " more " }
                    a href=(visit.page(&["trust", "agents"])) { "Agents" } }
            }
            @if visit.may_govern() && !stops.panic {
                details.panic {
                    summary { "Stop everything" }
                    p { "Every call of every agent is denied at once, in every mode, until somebody lets them run again." }
                    (panic_form(visit, "engage", "Stop everything now")?)
                }
            }
        }
    })
}

fn scope_words(scope: &ModeScopeAnswer) -> Markup {
    let parts = [("tool", &scope.tool), ("agent", &scope.agent), ("role", &scope.role)];
    html! { @for (what, value) in parts { @if let Some(value) = value { (what) " " (name(value)) " " } } }
}

fn panic_form(visit: &Visit, verb: &str, label: &str) -> Result<Markup, PageError> {
    Ok(html! {
        form.inline method="post" action=(visit.page(&["now", "panic", verb])) {
            (act_fields(visit)?)
            label { "Reason " input name="reason" required maxlength="2048" autocomplete="off"; }
            button.bad[verb == "engage"] { (label) }
        }
    })
}

/// Stops everything, or lets it go on.
pub(crate) async fn act(visit: &Visit, verb: &str, form: &FormFields) -> Result<Done, PageError> {
    visit.must_govern()?;
    let reason = form.get("reason").ok_or_else(|| {
        PageError::Field("Say why: a stop, and its end, is recorded with a reason.".to_owned())
    })?;
    let (method, notice) = match verb {
        "engage" => (Method::POST, "Everything is stopped."),
        "release" => (Method::DELETE, "Calls may run again."),
        _ => return Err(PageError::NoSuchPage),
    };
    let request = StopRequest { reason: reason.to_owned() };
    visit.send::<ActAnswer>(method, &visit.api(paths::PANIC, &[], ""), &request).await?;
    Ok(Done { to: visit.page(&["now"]), notice: notice.to_owned() })
}
