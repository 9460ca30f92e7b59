//! The effect of a person's word on a call that the steps would have reviewed.

use bitacora_formats::Micros;
use bitacora_vocabulary::{Name, ReasonCode, Verdict};

use crate::calls::approvals::Claim;
use crate::calls::grants::{GrantSubject, may_lift};
use crate::decide::ladder::{Evaluation, claim};
use crate::reactor::examination::CallFacts;
use crate::state::State;
use crate::version::{has_no_dead_ends, is_isolated, is_strict, needs_room_for_approvals};

/// The effect of a person's word on a call that the steps would have reviewed.
pub(super) enum ReviewOutcome {
    /// The approval that the call brought is for this very call.
    Approved(Name),
    /// A standing grant covers it.
    Granted(Name),
    /// The approval that it brought does not help, and another one is not asked for.
    Refused(ReasonCode, Name),
    /// It waits for this approval, which was asked for before.
    Waits(Name, u64),
    /// It waits for an approval that is asked for now; the one that it brought, if any, did not help.
    Asks(Option<ReasonCode>),
    /// A person said no to this very call, or nobody answered in time and that is a no.
    No(Name, ReasonCode),
    /// It would have to wait for another approval, and of these there are too many.
    Full(&'static str),
}

/// Returns the word of a person that holds for a call. The approval that the call brought comes first, then a standing grant, then
/// what was said of the same call before. Where nothing is there, a person is asked.
pub(super) fn review_outcome(
    state: &State,
    facts: &CallFacts,
    evaluation: &Evaluation,
    time: Micros,
) -> ReviewOutcome {
    let reviews = evaluation.reviews();
    // The first versions of the rules had an approval lift whatever the call was reviewed for.
    let lifted = is_strict(facts.reactor_version).then_some(reviews.as_slice());
    let claim = Claim { reviews: lifted, ..claim(facts, state.policy_version()) };
    let mut refused = None;
    if let Some(approval) = &facts.approval {
        match state.approvals().check(approval, &claim, time) {
            Ok(()) => return ReviewOutcome::Approved(approval.clone()),
            Err(ReasonCode::ApprovalRejected) if has_no_dead_ends(facts.reactor_version) => {
                return ReviewOutcome::No(approval.clone(), ReasonCode::ApprovalRejected);
            }
            Err(code @ (ReasonCode::ApprovalRejected | ReasonCode::ApprovalPending)) => {
                return ReviewOutcome::Refused(code, approval.clone());
            }
            Err(code) => refused = Some(code),
        }
    }
    let reviews = evaluation.findings.iter().filter(|finding| finding.verdict == Verdict::Review);
    let covered = GrantSubject {
        tool: &facts.tool,
        server: facts.server.as_deref(),
        context: facts.dimension.context(),
        agent: facts.agent.as_deref(),
        session: facts.session.as_deref(),
        workspace: facts.dimension.workspace(),
        examined: facts.examined.as_ref(),
        rules: facts.reactor_version,
    };
    if reviews.into_iter().all(|finding| may_lift(finding.code))
        && !(is_isolated(facts.reactor_version) && evaluation.asks_each_time)
        && let Some(grant) = state.grants().covering(&covered, time)
    {
        return ReviewOutcome::Granted(grant.clone());
    }
    if has_no_dead_ends(facts.reactor_version)
        && let Some(rejected) = state.approvals().rejected_for(&claim, time)
    {
        return ReviewOutcome::No(rejected.request.approval.clone(), ReasonCode::ApprovalRejected);
    }
    if let Some(lapsed) = state.approvals().lapsed_for(&claim, facts.approval.as_deref(), time) {
        return ReviewOutcome::No(lapsed.request.approval.clone(), ReasonCode::ApprovalLapsed);
    }
    match state.approvals().waiting_for(&claim, time) {
        Some(waiting) => ReviewOutcome::Waits(waiting.request.approval.clone(), waiting.request.expires),
        None => match no_room(state, facts, time) {
            Some(what) => ReviewOutcome::Full(what),
            None => ReviewOutcome::Asks(refused),
        },
    }
}

/// Returns the kind of entry that leaves no room for another approval. The first versions of the rules have denied such a call
/// before.
fn no_room(state: &State, facts: &CallFacts, time: Micros) -> Option<&'static str> {
    let is_looked_at = !needs_room_for_approvals(facts.reactor_version);
    is_looked_at.then(|| state.approvals().full_for(facts.agent.as_deref(), time)).flatten()
}
