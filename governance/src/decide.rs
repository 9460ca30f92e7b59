//! The decision made from the steps' verdicts, and the events that it causes.

pub(crate) mod approval_request;
pub(crate) mod charging;
mod draft;
pub(crate) mod finding;
pub(crate) mod ladder;
pub(crate) mod local_time;
pub(crate) mod measured;
pub(crate) mod precheck;
pub(crate) mod reasons;
mod review;
pub(crate) mod session_folder;
pub(crate) mod times;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    ApprovalConsumed, ApprovalRequested, BudgetCharged, BudgetExceeded, ClockOffset, Count, DecisionInputs,
    DecisionMade, FreeText, LoopDetected, LoopKind, Mode, Name, Obligations, OnExceed, OutcomeRules,
    ReasonCode, ReasonText, Risk, RunAborted, Verdict,
};

use crate::decide::approval_request::{approval_to_ask_for, request_approval};
use crate::decide::draft::DecisionDraft;
use crate::decide::ladder::{Evaluation, evaluate, mode_of};
use crate::decide::reasons::{ReasonNames, reason_text};
use crate::decide::review::review_outcome;
use crate::decide::times::CallTimes;
use crate::loop_guard::{Objection, OngoingLoop};
use crate::reactor::examination::CallFacts;
use crate::refusal::ReactorRefusal;
use crate::state::State;
use crate::trust::breaker::Transition;
use crate::version::has_no_dead_ends;

/// A decision, and the events that stand with it in the same request.
#[derive(Debug, Clone)]
pub(crate) struct DecisionEvents {
    /// Comes before the decision.
    pub(crate) transition: Option<Transition>,
    pub(crate) decision: DecisionMade,
    pub(crate) consumed: Option<ApprovalConsumed>,
    pub(crate) requested: Option<ApprovalRequested>,
    /// The reservations that budgets hold for the call: none unless it may run.
    pub(crate) reserved: Vec<BudgetCharged>,
    /// Budgets that were found spent.
    pub(crate) exceeded: Vec<BudgetExceeded>,
    /// The loop that the call is a part of, where it was not reported yet.
    pub(crate) round: Option<LoopDetected>,
    /// The run that ends with it.
    pub(crate) aborted: Option<RunAborted>,
}

/// Decides about a call whose request stands at this position; 0 is for a prediction, which records nothing. A recorded decision
/// notes the facts that it rests on.
pub(crate) fn decide(
    state: &State,
    facts: &CallFacts,
    position: u64,
    time: Micros,
) -> Result<DecisionEvents, ReactorRefusal> {
    let mut evaluation = evaluate(state, facts, time)?;
    let mut draft = DecisionDraft::new(&evaluation);
    let mode = mode(state, facts, draft.code);
    let tool = state.registry().get(&facts.tool, facts.server.as_deref());
    let times = state.times_of(tool.map(AsRef::as_ref));
    // A person is asked about what would be enforced, and about nothing else. A deny is no person's to lift.
    if draft.verdict == Verdict::Review && mode == Mode::Enforce {
        let outcome = review_outcome(state, facts, &evaluation, time);
        let ends = time.0.saturating_add(times.approval.0);
        draft.settle_review(outcome, facts, &mut evaluation, ends);
        if draft.asks_person
            && let Some(id) = approval_to_ask_for(facts, position)?
        {
            draft.request(request_approval(state, facts, &evaluation, (id, &times), time));
        }
    }
    let is_allowed = draft.verdict == Verdict::Allow || mode == Mode::Observe;
    // An approval's end gives way to the time in which an allowed call has to begin.
    if is_allowed {
        draft.expires = Some(time.0.saturating_add(times.start.0));
    }
    let decision = DecisionMade {
        call: facts.call.clone(),
        verdict: draft.verdict,
        mode,
        reason_code: draft.code,
        reason: reason(state, facts, (&evaluation, &draft), position, time),
        rule: evaluation.rule.clone(),
        ladder: evaluation.ladder(),
        approval: draft.approval,
        grant: draft.grant,
        expires: draft.expires,
        deadline: deadline(&times, facts, (draft.verdict, mode), time),
        obligations: (draft.verdict == Verdict::Allow)
            .then(|| obligations(state, facts, evaluation.excludes_secrets))
            .flatten(),
        earlier_outcome: evaluation.earlier_outcome,
        retry_after_ms: evaluation.retry_after,
        examined: None,
        inputs: inputs(state, facts, &evaluation),
    };
    Ok(DecisionEvents {
        aborted: aborted(&decision, facts, &evaluation),
        transition: evaluation.transition,
        decision,
        consumed: draft.consumed,
        requested: draft.requested,
        // Budgets reserve nothing for a call that may not run; that they are spent is told all the same.
        reserved: if is_allowed { evaluation.budgets.reserved } else { Vec::new() },
        exceeded: evaluation.budgets.exceeded,
        round: evaluation.round.and_then(|objection| detected(facts, objection)),
    })
}

/// Returns the reason of a decision in words.
fn reason(
    state: &State,
    facts: &CallFacts,
    (evaluation, draft): (&Evaluation, &DecisionDraft),
    position: u64,
    time: Micros,
) -> ReasonText {
    // A prediction asks nobody: no approval waits yet.
    let waits = draft.waits.as_deref().filter(|_| position > 0 || draft.requested.is_none());
    reason_text(
        draft.code,
        &ReasonNames {
            tool: &facts.tool,
            context: facts.dimension.context(),
            agent: facts.agent.as_deref(),
            detail: draft.detail.as_deref(),
            approval: waits,
            measured: state.measured(facts, evaluation, (draft.verdict, draft.code), time),
        },
    )
}

/// Returns the end of the run of a call that met a budget which aborts it.
fn aborted(decision: &DecisionMade, facts: &CallFacts, evaluation: &Evaluation) -> Option<RunAborted> {
    let is_meant = decision.mode == Mode::Enforce && decision.verdict == Verdict::Deny;
    let run = facts.run.as_deref().filter(|_| is_meant && evaluation.aborts_run())?;
    let reason = match &evaluation.budgets.strictest {
        Some((OnExceed::Abort, budget)) => format!("the budget `{budget}` is spent"),
        _ => "it took all the calls or steps that it may".to_owned(),
    };
    Some(RunAborted { run: Name::new(run).ok()?, by: None, reason: FreeText::new(reason).ok()? })
}

fn detected(facts: &CallFacts, objection: Objection) -> Option<LoopDetected> {
    let kind = objection.unreported?;
    let is_same = kind == LoopKind::IdenticalCalls;
    let calls = match objection.ongoing_loop {
        Some(OngoingLoop::Cycle { calls, .. }) if kind == LoopKind::RepeatedCycle => {
            Count::new(calls.into()).ok()
        }
        _ => None,
    };
    Some(LoopDetected {
        call: facts.call.clone(),
        kind,
        tool: facts.tool.clone(),
        args_digest: facts.compared_digest().filter(|_| is_same).cloned(),
        cycle: calls,
        count: Count::new(objection.count).unwrap_or(Count::MAX),
        session: facts.session.clone(),
        run: facts.run.clone(),
    })
}

/// Returns the mode of a decision. Panic and suspension hold in every mode, and nothing is allowed by a state that cannot be read.
fn mode(state: &State, facts: &CallFacts, code: ReasonCode) -> Mode {
    let always = matches!(code, ReasonCode::Panic | ReasonCode::AgentSuspended | ReasonCode::StateUnreadable);
    if always && !facts.imported { Mode::Enforce } else { mode_of(state, facts) }
}

fn inputs(state: &State, facts: &CallFacts, evaluation: &Evaluation) -> DecisionInputs {
    DecisionInputs {
        dimension: facts.dimension.clone(),
        approvals: evaluation.record.approvals,
        rejections: evaluation.record.rejections,
        failures: evaluation.record.failures,
        recent_failures: u64::from(evaluation.record.recent.failures()),
        streak: evaluation.record.streak,
        last_updated: evaluation.record.last_updated.map(|time| time.0),
        score: evaluation.assessment.score,
        breaker: evaluation.breaker,
        policy_version: state.policy_version(),
        registry_revision: state.registry().revision(),
        reactor_version: facts.reactor_version,
        action_digest: facts.action_digest().cloned(),
        args_digest: facts.examined.as_ref().and_then(|found| found.args_digest.clone()),
        role: facts.role.clone(),
        idempotency_key: facts.idempotency_key.clone(),
        server: facts.server.clone(),
        run: facts.run.clone(),
        destinations: facts.examined.as_ref().map(|found| found.destinations.clone()).unwrap_or_default(),
        session_folder: state.session_folder(facts),
        poll: facts.poll,
        outcome: outcome_rules(state, facts),
        clock_offset_us: Some(state.clock().offset())
            .filter(|offset| *offset > 0 && !facts.imported)
            .map(ClockOffset::new),
        local_times: evaluation.local_times.clone(),
        imported: facts.imported,
    }
}

/// Returns the rules by which the outcome of a call will count: those of the policy and of the registry at this decision.
fn outcome_rules(state: &State, facts: &CallFacts) -> OutcomeRules {
    if !has_no_dead_ends(facts.reactor_version) {
        return OutcomeRules::default();
    }
    let parts = facts.examined.as_ref().map(|found| found.parts.as_slice()).unwrap_or_default();
    let tool = state.registry().get(&facts.tool, facts.server.as_deref());
    OutcomeRules {
        uncounted: facts.is_uncounted(),
        exit_codes_count: state.policy().is_some_and(|policy| policy.counts_exit_codes(parts)),
        looks: tool.is_some_and(|tool| tool.document.risk == Risk::Read),
    }
}

/// Returns the time at which the call is over without an outcome. It has to begin in time, and may then take as long as its tool
/// may, or less if its request says so. A denied call has no outcome to wait for.
fn deadline(times: &CallTimes, facts: &CallFacts, (verdict, mode): (Verdict, Mode), time: Micros) -> u64 {
    if verdict == Verdict::Deny && mode == Mode::Enforce {
        return time.0.saturating_add(times.start.0);
    }
    let said = facts.deadline_ms.map(|deadline| deadline.get() * 1_000);
    time.0.saturating_add(said.map_or(times.call.0, |said| said.min(times.call.0)))
}

fn obligations(state: &State, facts: &CallFacts, exclude_secret_files: bool) -> Option<Obligations> {
    let document = &state.registry().get(&facts.tool, facts.server.as_deref())?.document;
    Some(Obligations {
        timeout_ms: Some(document.timeout_ms),
        max_retries: Some(document.retry.max),
        backoff_ms: Some(document.retry.backoff_ms),
        exclude_secret_files,
    })
}
