//! The state of an approval, in a sentence.

use bitacora_api::{ApprovalAnswer, PENDING};
use maud::{Markup, html};

use super::policy::ActivePolicy;
use crate::components::{from_now, name, text};
use crate::visit::Visit;

/// The state of an approval, as far as it concerns who looks at it.
pub(super) struct State<'a> {
    pub(super) approval: &'a ApprovalAnswer,
    pub(super) policy: &'a ActivePolicy,
    /// `true` on the page of the approval itself.
    pub(super) is_alone: bool,
}

impl State<'_> {
    pub(super) fn is_open(&self) -> bool {
        self.approval.status == PENDING
    }

    /// Returns `true` where the policy is another one since: an approval does not help the call any more.
    pub(super) fn is_stale(&self) -> bool {
        let asked_under = self.approval.policy_version.as_deref();
        self.is_open() && asked_under.is_some() && asked_under != self.policy.version.as_deref()
    }

    /// Returns the banner of a card: nothing while the approval waits as it did.
    pub(super) fn banner(&self, visit: &Visit) -> Markup {
        let Self { approval, policy, .. } = self;
        html! {
            @if !self.is_open() {
                p.notice.over role="status" data-over { (outcome(visit, approval)) }
            } @else if self.is_stale() {
                p.notice.refusal role="status" {
                    "The policy changed: version " (text(approval.policy_version.as_deref().unwrap_or("none"))) " asked for this, version "
                    (text(policy.version.as_deref().unwrap_or("none"))) " is active. An approval has no effect now: the call is decided anew when the agent asks again."
                }
            } @else if approval.call_ended == Some(true) {
                p.notice.refusal role="status" { "The agent has reported the outcome of this call already: an answer changes nothing." }
            }
        }
    }
}

/// Returns what has become of an approval, who did it, and when.
pub(crate) fn outcome(visit: &Visit, approval: &ApprovalAnswer) -> Markup {
    let resolution = approval.resolution.as_ref();
    let word = match resolution.map_or(approval.status.as_str(), |resolution| resolution.resolution.as_str())
    {
        "approved" => "Approved",
        "edited" => "Approved with other arguments",
        "rejected" => "Rejected",
        "withdrawn" => "Withdrawn",
        "expired" => "Expired: nobody answered in time",
        other => other,
    };
    html! {
        strong { (text(word)) }
        @if let Some(resolution) = resolution {
            @if resolution.resolution != "expired" { " by " (who(visit, &resolution.by)) }
            @if let Some(at) = &resolution.at { ", " (from_now(&visit.zone, at)) }
            @if let Some(note) = &resolution.note { ": " q { (name(note)) } }
        }
        @if let Some(used) = &approval.consumed { ". The call used it " (from_now(&visit.zone, &used.at)) }
        "."
    }
}

/// Returns the actor of an act, as its reader knows them.
pub(super) fn who(visit: &Visit, actor: &str) -> Markup {
    html! { @if actor == visit.caller.actor { "you (" (name(actor)) ")" } @else { (name(actor)) } }
}

/// Returns what happens if nobody answers, and when.
pub(super) fn unanswered(visit: &Visit, approval: &ApprovalAnswer) -> Markup {
    html! { p.unanswered { "Without an answer it expires " (from_now(&visit.zone, &approval.expires)) ": "
    @if approval.at_end.as_deref() == Some("deny") { "the same call is then denied for as long again." }
    @else { "the call does not run. If the agent makes it again, it is reviewed again." } } }
}
