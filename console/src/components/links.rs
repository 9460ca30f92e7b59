//! Links to what an id names. The id is in a box: whoever chose it, it does not read as words of the console.

use maud::{Markup, html};

use super::name;
use crate::visit::Visit;

/// Returns the link to a call's story.
pub(crate) fn call_link(visit: &Visit, call: &str) -> Markup {
    link(visit, "calls", call)
}

/// Returns the link to a session.
pub(crate) fn session_link(visit: &Visit, session: &str) -> Markup {
    link(visit, "sessions", session)
}

/// Returns the link to a run.
pub(crate) fn run_link(visit: &Visit, run: &str) -> Markup {
    link(visit, "runs", run)
}

/// Returns the link to an approval.
pub(crate) fn approval_link(visit: &Visit, approval: &str) -> Markup {
    link(visit, "approvals", approval)
}

fn link(visit: &Visit, part: &str, id: &str) -> Markup {
    html! { a href=(visit.page(&[part, id])) { (name(id)) } }
}

/// Returns the link to an event and its proof, by its position.
pub(crate) fn event_link(visit: &Visit, position: &str) -> Markup {
    html! { a.place href=(visit.page(&["events", position])) title="This event and its proof" { "#" (position) } }
}

/// Returns the link to a version of the policy.
pub(crate) fn policy_link(visit: &Visit, version: &str) -> Markup {
    html! { a href=(visit.page(&["policy", "versions", version])) { "policy " (version) } }
}
