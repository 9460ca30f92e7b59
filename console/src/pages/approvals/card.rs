//! One waiting call as a card: all that it takes to judge it, and the answers.

use bitacora_api::ApprovalAnswer;
use maud::{Markup, html};

use super::answers::{May, Typed, answers};
use super::background::Background;
use super::reasons::{just_before, record, why};
use super::verdicts::{State, unanswered};
use crate::components::{
    arguments, code_name, code_text, command_parts, from_now, name, on_context, run_link, sentence,
    session_link, text,
};
use crate::page_error::PageError;
use crate::visit::Visit;

/// Returns a card. Its parts are replaced one by one when something changes, so that what was typed into one of them stays.
pub(super) fn card(
    visit: &Visit,
    state: &State<'_>,
    behind: Option<&Background>,
    typed: Typed<'_>,
) -> Result<Markup, PageError> {
    let approval = state.approval;
    let id = &approval.id;
    let title = format!("title-{id}");
    let may = May::of(visit, approval, state.is_stale());
    Ok(html! {
        article.card.approval id=(format!("card-{id}")) tabindex="0" aria-labelledby=(title) data-item {
            (heading(visit, approval, behind, &title))
            div id=(format!("said-{id}")) data-fresh { (state.banner(visit)) }
            @if let Some(behind) = behind {
                div.facing id=(format!("facts-{id}")) data-fresh {
                    div.what {
                        (what_for(approval))
                        (arguments_of(approval))
                        (places(approval))
                    }
                    div.about {
                        (why(visit, approval, behind))
                        (record(visit, state.policy, behind))
                        (just_before(visit, approval, behind))
                    }
                }
            }
            div.acts id=(format!("acts-{id}")) data-fresh {
                @if state.is_open() { (unanswered(visit, approval)) }
                (answers(visit, approval, may, state.is_alone, behind, typed)?)
            }
        }
    })
}

fn heading(visit: &Visit, approval: &ApprovalAnswer, behind: Option<&Background>, title: &str) -> Markup {
    let session = behind.and_then(|behind| behind.session.as_deref());
    let run = behind.and_then(|behind| behind.run.as_deref());
    html! {
        div.head {
            h2 id=(title) {
                a href=(visit.page(&["approvals", &approval.id])) { (code_name(&approval.tool)) }
                @if let Some(server) = &approval.server { " of server " (name(server)) }
                @if let Some(context) = &approval.context { (on_context(context)) }
            }
            p.note {
                @if let Some(agent) = &approval.agent { "for agent " strong { (name(agent)) } }
                @if let Some(session) = session { " · session " (session_link(visit, session)) }
                @if let Some(run) = run { " · run " (run_link(visit, run)) }
                " · asked " (from_now(&visit.zone, &approval.asked))
            }
        }
    }
}

/// Returns what a rollback is asked for, where that is the subject.
fn what_for(approval: &ApprovalAnswer) -> Markup {
    html! { @if approval.about.as_deref() == Some("rollback") {
        p { "The call ran, and the check after it failed"
            @if let Some(contract) = &approval.contract { " (contract " (code_name(contract)) ")" }
            ". May what it did be rolled back?" }
    } }
}

/// Returns the arguments of the call that an approval is about.
fn arguments_of(approval: &ApprovalAnswer) -> Markup {
    if let Some(reason) = &approval.unread {
        return html! { p.notice.refusal { "The record of the call cannot be read: " (sentence(reason)) } };
    }
    if let Some(bytes) = approval.args_bytes {
        return html! {
            @if let Some(parts) = &approval.parts { (command_parts(parts, approval.more_parts)) }
            p.note { "The arguments have " (bytes) " bytes, too many to show here." }
        };
    }
    match &approval.args {
        Some(args) => arguments(args.get(), approval.parts.as_deref(), approval.more_parts),
        None => html! { p.note { "The arguments are not recorded; their digest is "
        code { (text(approval.action_digest.as_deref().unwrap_or("not recorded either"))) } "." } },
    }
}

/// Returns where the call would work, and what it would reach.
fn places(approval: &ApprovalAnswer) -> Markup {
    let reached = approval.destinations.as_deref().unwrap_or_default();
    html! {
        dl.places {
            @if let Some(cwd) = &approval.cwd { div { dt { "In folder" } dd { code { (code_text(cwd)) } } } }
            @if !reached.is_empty() { div { dt { "Reaches" } dd { ul.plain { @for place in reached { li { code { (code_text(place)) } } } } } } }
        }
    }
}
