//! One approval, whatever has become of it: the call, the question, the answer, what came of it.

use bitacora_api::{ApprovalAnswer, CallAnswer, PENDING, paths};
use maud::{Markup, html};

use super::answers::Typed;
use super::background::Background;
use super::card::card;
use super::policy::ActivePolicy;
use super::verdicts::{State, outcome, who};
use crate::command_line::CommandLine;
use crate::components::{
    Fact, arguments, call_link, code_name, event_link, facts, from_now, moment, name, quoted, text,
    verdict_badge,
};
use crate::page::{Page, Section};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Shows one approval.
pub(crate) async fn one(visit: &Visit, id: &str) -> Result<Page, PageError> {
    page(visit, id, Typed::default(), None).await
}

/// Makes the page of an approval, with what was typed into a form that was not taken, and words before all else.
pub(super) async fn page(
    visit: &Visit,
    id: &str,
    typed: Typed<'_>,
    first: Option<Markup>,
) -> Result<Page, PageError> {
    let answered = visit.get::<ApprovalAnswer>(paths::APPROVAL, &[id], "").await?;
    let approval = &answered.value;
    let policy = ActivePolicy::load(visit).await;
    let state = State { approval, policy: &policy, is_alone: true };
    let behind = Background::load(visit, approval).await;
    let call = visit.get::<CallAnswer>(paths::CALL, &[&approval.call], "").await.ok();
    let content = html! {
        @if let Some(first) = first { (first) }
        (card(visit, &state, Some(&behind), typed)?)
        @if approval.status != PENDING { (edited(approval)) }
        section.sheet #story data-fresh {
            h2 { "The story" }
            (story(visit, approval, call.as_ref().map(|call| &call.value)))
        }
        section.sheet #facts data-fresh { h2 { "What an answer holds for" } (bound(visit, approval)) }
        p { a href=(visit.page(&["approvals"])) { "All approvals that wait" } }
    };
    let mut page = Page::new(Section::Approvals, format!("Approval {}", quoted(id)), content);
    page.position = answered.position;
    page.json = Some(visit.api(paths::APPROVAL, &[id], ""));
    page.command = Some(CommandLine::new(visit, "approvals show").argument(id).line());
    Ok(page)
}

/// Returns the arguments that were approved in the place of those asked for.
fn edited(approval: &ApprovalAnswer) -> Markup {
    let Some(resolution) = approval.resolution.as_ref().filter(|found| found.resolution == "edited") else {
        return html! {};
    };
    html! {
        section.sheet {
            h2 { "The call that was approved in its place" }
            @match &resolution.args {
                Some(args) => (arguments(args.get(), None, None)),
                None => p.note { "Its arguments are not recorded; their digest is "
                    code { (text(resolution.action_digest.as_deref().unwrap_or_default())) } "." },
            }
            @if let Some(cwd) = &resolution.cwd { p { "In folder " (code_name(cwd)) } }
        }
    }
}

/// Returns what happened, in the order in which it did.
fn story(visit: &Visit, approval: &ApprovalAnswer, call: Option<&CallAnswer>) -> Markup {
    let resolution = approval.resolution.as_ref();
    let end = call.and_then(|call| call.outcome.as_ref());
    html! {
        ol.timeline {
            @if let Some(call) = call {
                li { (moment(&visit.zone, &call.time)) " Call " (call_link(visit, &call.call)) " was requested " (event_link(visit, &call.position)) }
            }
            li { (moment(&visit.zone, &approval.asked)) " A review was asked for"
                @if let Some(by) = &approval.requested_by { " by " (who(visit, by)) }
                " " (event_link(visit, &approval.position)) }
            @if approval.status == PENDING {
                li { "It waits for a person, and expires " (from_now(&visit.zone, &approval.expires)) "." }
            } @else {
                li { @if let Some(at) = resolution.and_then(|found| found.at.as_deref()) { (moment(&visit.zone, at)) " " }
                    (outcome(visit, approval))
                    @if let Some(position) = call.and_then(|call| call.approval.as_ref()).and_then(|found| found.resolved_position.as_deref()) { " " (event_link(visit, position)) } }
            }
            @if let Some(used) = &approval.consumed {
                li { (moment(&visit.zone, &used.at)) " Call " (call_link(visit, &used.call)) " used the approval" }
            }
            @if let Some(end) = end {
                li { (moment(&visit.zone, &end.time)) " It ended " (verdict_badge(&end.status))
                    @if let Some(words) = &end.summary { ": " q { (name(words)) } }
                    " " (event_link(visit, &end.position)) }
            }
        }
    }
}

/// Returns what an approval holds for: this and no other call.
fn bound(visit: &Visit, approval: &ApprovalAnswer) -> Markup {
    let digest = approval.action_digest.as_deref();
    facts([
        Fact::new("State", verdict_badge(&approval.status)),
        Fact::text("Approval", Some(&approval.id)),
        Fact::new("Asked", moment(&visit.zone, &approval.asked)),
        Fact::new("Expires", moment(&visit.zone, &approval.expires)),
        approval.requested_by.as_deref().and_then(|by| Fact::new("Asked by", name(by))),
        Fact::text("May answer", Some(&approval.approvers.join(", "))),
        Fact::text("Policy", approval.policy_version.as_deref()),
        Fact::new("Digest of the arguments", html! { code { (text(digest.unwrap_or("not known"))) } }),
    ])
}
