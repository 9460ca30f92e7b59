//! The forms of an approval: approve, approve an edited call, reject, take back.

use bitacora_api::{ApprovalAnswer, PENDING};
use maud::{Markup, html};

use super::background::Background;
use super::consent;
use super::sight::{Unseen, way_to_read, way_without_page};
use crate::components::act_fields;
use crate::json::pretty;
use crate::page_error::PageError;
use crate::visit::Visit;

/// The fields of a form that was not taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Typed<'a> {
    pub(super) verb: &'a str,
    pub(super) note: Option<&'a str>,
    pub(super) args: Option<&'a str>,
}

/// The answers that a viewer may give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    /// Anything.
    Answer,
    /// Only a rejection: not all of the call is on the page.
    Reject(Unseen),
    /// Only that it is not wanted: an approval would not help.
    Refuse,
    /// Nothing, for this reason.
    Nothing(&'static str),
}

impl May {
    pub(super) fn of(visit: &Visit, approval: &ApprovalAnswer, is_stale: bool) -> Self {
        if approval.status != PENDING {
            return Self::Nothing("");
        }
        if !visit.may_govern() || !approval.approvers.contains(&visit.caller.role) {
            return Self::Nothing("Your role may read approvals and answer none.");
        }
        if approval.requested_by.as_deref() == Some(visit.caller.actor.as_str()) {
            return Self::Nothing("You asked for this call yourself: somebody else has to answer.");
        }
        if is_stale || approval.call_ended == Some(true) {
            return Self::Refuse;
        }
        Unseen::of(approval).map_or(Self::Answer, Self::Reject)
    }
}

/// Returns the forms by which a viewer may answer. `is_alone` on the page of the approval, which shows more of it than a list.
pub(super) fn answers(
    visit: &Visit,
    approval: &ApprovalAnswer,
    may: May,
    is_alone: bool,
    behind: Option<&Background>,
    typed: Typed<'_>,
) -> Result<Markup, PageError> {
    Ok(match may {
        May::Nothing("") => html! {},
        May::Nothing(reason) => html! { p.note { (reason) } },
        May::Refuse => {
            html! { div.answers { (reject(visit, approval, typed)?) (withdraw(visit, approval)?) } }
        }
        May::Reject(unseen) => html! {
            @if is_alone { (way_without_page(visit, approval, unseen, behind)) } @else { (way_to_read(visit, approval)) }
            div.answers { (reject(visit, approval, typed)?) }
        },
        May::Answer => html! {
            div.answers { (approve(visit, approval)?) (reject(visit, approval, typed)?) }
            (edit(visit, approval, typed)?)
            (consent::form(visit, approval, behind)?)
        },
    })
}

fn address(visit: &Visit, approval: &ApprovalAnswer, verb: &str) -> String {
    visit.page(&["approvals", &approval.id, verb])
}

fn approve(visit: &Visit, approval: &ApprovalAnswer) -> Result<Markup, PageError> {
    let label =
        if approval.about.as_deref() == Some("rollback") { "Approve the rollback" } else { "Approve" };
    Ok(html! {
        form.inline method="post" action=(address(visit, approval, "approve")) {
            (act_fields(visit)?)
            button.good data-key="a" aria-keyshortcuts="a" title="This call, once" { (label) " " kbd aria-hidden="true" { "a" } }
        }
    })
}

fn reject(visit: &Visit, approval: &ApprovalAnswer, typed: Typed<'_>) -> Result<Markup, PageError> {
    let note = typed.note.filter(|_| typed.verb == "reject");
    Ok(html! {
        form.inline.reject method="post" action=(address(visit, approval, "reject")) {
            (act_fields(visit)?)
            label { span.unseen-caption { "Reason for the rejection" }
                input name="note" required maxlength="2048" autocomplete="off" data-key="r" placeholder="Reason, as the agent will read it" value=[note]; }
            button.bad { "Reject " kbd aria-hidden="true" { "r" } }
        }
    })
}

fn withdraw(visit: &Visit, approval: &ApprovalAnswer) -> Result<Markup, PageError> {
    Ok(html! {
        form.inline method="post" action=(address(visit, approval, "withdraw")) {
            (act_fields(visit)?)
            button.quiet { "Withdraw" }
        }
    })
}

/// Returns the form for other arguments in the place of those asked for.
fn edit(visit: &Visit, approval: &ApprovalAnswer, typed: Typed<'_>) -> Result<Markup, PageError> {
    let asked = approval.args.as_ref().map(|args| pretty(args.get()));
    let is_again = typed.verb == "edit";
    let Some(args) = typed.args.filter(|_| is_again).map(str::to_owned).or(asked) else {
        return Ok(html! {});
    };
    let rows = args.lines().count().clamp(MIN_ROWS, MAX_ROWS);
    Ok(html! {
        details.edit open[is_again] {
            summary data-key="e" { "Approve an edited call " kbd aria-hidden="true" { "e" } }
            form method="post" action=(address(visit, approval, "edit")) {
                (act_fields(visit)?)
                label { "Arguments, as JSON" textarea name="args" rows=(rows) spellcheck="false" required { "\n" (args) } }
                label { "Note" input name="note" maxlength="2048" autocomplete="off" value=[typed.note.filter(|_| is_again)]; }
                p.note { "The agent is told to make this call instead of its own. It may run once." }
                button.good { "Approve the edited call" }
            }
        }
    })
}

/// The least and the most lines of the field for arguments.
const MIN_ROWS: usize = 4;
const MAX_ROWS: usize = 16;
