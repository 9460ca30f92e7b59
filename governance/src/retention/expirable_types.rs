//! The types of events that a retention policy can remove.
//!
//! Records of single acts can go: a call, its outcome, a step. What still says something about today stays: settings, consent, stops,
//! registrations, and everything that the service writes about the ledger and its custody.

use bitacora_vocabulary::{event_type, is_binary_kind, is_service_kind};

/// The types of the vocabulary that are records of single acts.
const EXPIRABLE: [&str; 31] = [
    "annotation.added",
    "approval.consumed",
    "approval.requested",
    "approval.resolved",
    "budget.charged",
    "budget.exceeded",
    "contract.checked",
    "coverage.gap",
    "decision.made",
    "loop.detected",
    "model.called",
    "rollback.executed",
    "run.overdue",
    "run.paused",
    "run.resumed",
    "run.started",
    "run.step",
    "session.ended",
    "session.started",
    "telemetry.agent",
    "telemetry.decision",
    "telemetry.event",
    "telemetry.model",
    "telemetry.tool",
    "tool.blocked",
    "tool.completed",
    "tool.failed",
    "tool.requested",
    "trust.observed",
    "turn.ended",
    "turn.started",
];

/// Returns `true` if a retention policy can remove events of this type. Types outside the vocabulary can go. Pieces of checkpoints
/// stay, because later checkpoints may name them again.
#[must_use]
pub fn may_expire(kind: &str) -> bool {
    if event_type(kind).is_some() {
        return EXPIRABLE.binary_search(&kind).is_ok();
    }
    !is_service_kind(kind) && !is_binary_kind(kind)
}

/// Returns the types of events that begin what events of this type end, answer or decide. Without the later event, the earlier one would
/// tell of a call that goes on, of an approval that waits, or of a session that is open.
pub(crate) fn beginnings(kind: &str) -> &'static [&'static str] {
    match kind {
        "decision.made" => &["tool.requested"],
        "approval.requested" => &["decision.made", "tool.requested"],
        "approval.consumed" | "approval.resolved" => {
            &["approval.requested", "decision.made", "tool.requested"]
        }
        "tool.blocked" | "tool.completed" | "tool.failed" => &["decision.made", "tool.requested"],
        "run.resumed" => &["run.paused"],
        "session.ended" => &["session.started"],
        "turn.ended" => &["turn.started"],
        _ => &[],
    }
}

/// Returns `true` if the service writes ends of this type into streams of its own, apart from what they end.
pub(crate) fn has_stream_of_its_own(kind: &str) -> bool {
    matches!(
        kind,
        "approval.consumed" | "approval.resolved" | "tool.blocked" | "tool.completed" | "tool.failed"
    )
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::{CHECKPOINT_BLOB, EVENT_TYPES, EventWriter};

    use super::*;

    /// The types of the vocabulary that stay: they set what lasts, or say what became of the ledger, its keys and its archives.
    const LASTING: [&str; 61] = [
        "agent.resumed",
        "agent.suspended",
        "archive.sealed",
        "breaker.closed",
        "breaker.configured",
        "breaker.half_opened",
        "breaker.opened",
        "budget.configured",
        // These say what a thread holds, for as long as the thread is there.
        "checkpoint.copied",
        "checkpoint.deleted",
        "checkpoint.saved",
        "checkpoint.writes",
        "clock.accepted",
        "clock.corrected",
        "contract.defined",
        "export.made",
        "grant.given",
        "grant.revoked",
        "hold.placed",
        "hold.released",
        "import.accepted",
        "import.batch",
        "key.rotated",
        "ledger.clock-jumped",
        "ledger.created",
        "ledger.frames-put-back",
        "ledger.headed",
        "ledger.opened",
        "ledger.read-only",
        "ledger.recovered",
        "ledger.tail-cut",
        "ledger.writable",
        "mode.configured",
        "panic.engaged",
        "panic.released",
        "policy.activated",
        "policy.published",
        "policy.retired",
        "principal.created",
        "principal.expired",
        "principal.revoked",
        "rate.configured",
        "retention.applied",
        "retention.changed",
        "retention.expired",
        // Without its end a run would be open for good.
        "run.aborted",
        "run.completed",
        "run.failed",
        "schema.registered",
        "subject.erased",
        "suggestion.accepted",
        "suggestion.made",
        "suggestion.rejected",
        "tool.changed",
        // A definition that was not expected holds calls until an operator registers it.
        "tool.described",
        "tool.drifted",
        "tool.registered",
        "tool.revoked",
        "trust.probed",
        "trust.set",
        "warm.cut",
    ];

    #[test]
    fn every_type_of_the_vocabulary_either_may_expire_or_lasts() {
        assert!(EXPIRABLE.is_sorted());
        for listed in EVENT_TYPES {
            let lists = [EXPIRABLE.as_slice(), &LASTING];
            let found = lists.into_iter().filter(|list| list.contains(&listed.kind)).count();
            assert_eq!(found, 1, "`{}` stands in one of the two lists", listed.kind);
            assert_eq!(may_expire(listed.kind), EXPIRABLE.contains(&listed.kind), "{}", listed.kind);
            assert!(!may_expire(listed.kind) || listed.writer != EventWriter::Service, "{}", listed.kind);
        }
        assert_eq!(EXPIRABLE.len() + LASTING.len(), EVENT_TYPES.len());
    }

    #[test]
    fn types_of_others_may_expire_and_those_of_the_service_to_come_do_not() {
        for kind in ["x.case.noted", "ticket.opened", "tool.else"] {
            assert!(may_expire(kind), "{kind}");
        }
        for kind in
            [CHECKPOINT_BLOB, "ledger.anything", "hold.renewed", "retention.paused", "principal.renamed"]
        {
            assert!(!may_expire(kind), "{kind}");
        }
    }
}
