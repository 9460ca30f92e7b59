//! The parts of a timeline: types of events that belong together.

use maud::{Markup, html};

use crate::form::query;
use crate::visit::Visit;

/// The parts, each with its word in an address, its name, and its types of events.
const PARTS: [(&str, &str, &[&str]); 7] = [
    ("calls", "Calls", &["tool.requested", "tool.completed", "tool.failed", "tool.blocked"]),
    (
        "decisions",
        "Decisions",
        &["decision.made", "approval.requested", "approval.resolved", "approval.consumed", "loop.detected"],
    ),
    ("models", "Models and costs", &["model.called", "budget.charged", "budget.exceeded", "telemetry.model"]),
    ("turns", "Turns", &["session.started", "session.ended", "turn.started", "turn.ended"]),
    (
        "steps",
        "Runs and steps",
        &[
            "run.started",
            "run.step",
            "run.paused",
            "run.resumed",
            "run.completed",
            "run.failed",
            "run.aborted",
            "run.overdue",
        ],
    ),
    (
        "checkpoints",
        "Checkpoints",
        &["checkpoint.saved", "checkpoint.writes", "checkpoint.copied", "checkpoint.deleted"],
    ),
    ("checks", "Gaps and checks", &["coverage.gap", "contract.checked", "rollback.executed"]),
];

/// Returns the types that the query of a page asks for; none where it asks for all.
pub(super) fn kinds_asked(visit: &Visit) -> &'static [&'static str] {
    let asked = visit.query.get("part");
    PARTS.iter().find(|(word, ..)| asked == Some(word)).map_or(&[], |(_, _, kinds)| kinds)
}

/// Returns the words of all parts.
pub(crate) fn kind_words() -> Vec<&'static str> {
    PARTS.map(|(word, ..)| word).to_vec()
}

/// Returns the links to all parts.
pub(crate) fn kind_links(visit: &Visit) -> Markup {
    let asked = visit.query.get("part");
    let link = |word: Option<&str>, name: &str| {
        let kept = visit.query.without(&["part", "after", "format", "done"]);
        let address = format!("{}{}", visit.path, query(kept.chain(word.map(|word| ("part", word)))));
        html! { a href=(address) aria-current=[(asked == word).then_some("true")] { (name) } }
    };
    html! {
        (link(None, "Everything"))
        @for (word, name, _) in PARTS { (link(Some(word), name)) }
    }
}
