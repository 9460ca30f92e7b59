//! The outcomes of calls that a policy is tried on, and the calls that people rejected.

use std::collections::HashMap;

use bitacora_vocabulary::{DecisionMade, EventData, Mode, ToolBlocked, ToolCompleted, ToolFailed, Verdict};

/// The most calls whose outcomes are looked for; those of further calls are not counted.
const MAX_WATCHED_CALLS: usize = 1_000_000;
/// The most positions that are named of rejected calls, by each verdict.
const MAX_EXAMPLES: usize = 8;

/// The outcomes of calls with another verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutcomeCounts {
    /// Calls with a stricter verdict that succeeded.
    pub(crate) stricter_ok: u64,
    /// Calls with a stricter verdict that failed.
    pub(crate) stricter_failed: u64,
    /// Calls with a milder verdict that succeeded.
    pub(crate) milder_ok: u64,
    /// Calls with a milder verdict that failed.
    pub(crate) milder_failed: u64,
    /// Calls with a milder verdict that were rejected or blocked.
    pub(crate) milder_blocked: u64,
}

/// Calls that people rejected, by the tried policy's verdict: it would have stopped those that it denies by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RejectionCounts {
    pub(crate) deny: RejectedCalls,
    pub(crate) review: RejectedCalls,
    pub(crate) allow: RejectedCalls,
}

/// Rejected calls with one verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RejectedCalls {
    pub(crate) calls: u64,
    /// The positions of the first decisions about them.
    pub(crate) examples: Vec<u64>,
}

impl RejectionCounts {
    pub(crate) fn calls(&self) -> u64 {
        self.deny.calls + self.review.calls + self.allow.calls
    }

    fn count(&mut self, verdict: Verdict, position: u64) {
        let counted = match verdict {
            Verdict::Deny => &mut self.deny,
            Verdict::Review => &mut self.review,
            Verdict::Allow => &mut self.allow,
        };
        counted.calls += 1;
        if counted.examples.len() < MAX_EXAMPLES {
            counted.examples.push(position);
        }
    }
}

/// The judged calls, until they end.
#[derive(Default)]
pub(crate) struct WatchedCalls {
    by_id: HashMap<String, JudgedCall>,
    /// The calls that wait for an approval, by its id.
    waiting: HashMap<String, Vec<String>>,
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) rejections: RejectionCounts,
}

/// A judged call.
struct JudgedCall {
    decided: u64,
    before: Verdict,
    after: Verdict,
    is_rejected: bool,
}

impl WatchedCalls {
    /// Watches for the end of a call that was decided at a position, whether or not its verdict changed.
    pub(crate) fn watch(
        &mut self,
        decision: &DecisionMade,
        decided: u64,
        (before, after): (Verdict, Verdict),
    ) {
        let is_meant = decision.mode == Mode::Enforce;
        // Nothing more comes of what was denied.
        let is_over = is_meant && decision.verdict == Verdict::Deny && before == after;
        let call = decision.call.as_str();
        if is_over || (self.by_id.len() >= MAX_WATCHED_CALLS && !self.by_id.contains_key(call)) {
            return;
        }
        if let Some(approval) = decision.approval.as_ref().filter(|_| decision.verdict == Verdict::Review) {
            self.waiting.entry(approval.to_string()).or_default().push(call.to_owned());
        }
        // Asked for again, it is still the call that somebody rejected.
        let is_rejected = self.by_id.get(call).is_some_and(|known| known.is_rejected);
        self.by_id.insert(call.to_owned(), JudgedCall { decided, before, after, is_rejected });
    }

    /// Takes in the answer to an approval.
    pub(crate) fn answer(&mut self, approval: &str, is_rejection: bool) {
        let calls = self.waiting.remove(approval).unwrap_or_default();
        calls.iter().filter(|_| is_rejection).for_each(|call| self.reject(call));
    }

    /// Takes in the end of a call, by an event of this type.
    pub(crate) fn end(&mut self, call: &str, kind: &str, is_rejection: bool) {
        if is_rejection {
            self.reject(call);
        }
        let Some(JudgedCall { before, after, .. }) = self.by_id.remove(call) else { return };
        let outcomes = &mut self.outcomes;
        let counted = match (after > before, kind) {
            _ if after == before => return,
            (true, ToolCompleted::KIND) => &mut outcomes.stricter_ok,
            (true, ToolFailed::KIND) => &mut outcomes.stricter_failed,
            (false, ToolCompleted::KIND) => &mut outcomes.milder_ok,
            (false, ToolFailed::KIND) => &mut outcomes.milder_failed,
            (false, ToolBlocked::KIND) => &mut outcomes.milder_blocked,
            _ => return,
        };
        *counted += 1;
    }

    /// Counts a person's rejection of a call, once.
    fn reject(&mut self, call: &str) {
        let Some(watched) = self.by_id.get_mut(call).filter(|watched| !watched.is_rejected) else { return };
        watched.is_rejected = true;
        self.rejections.count(watched.after, watched.decided);
    }
}
