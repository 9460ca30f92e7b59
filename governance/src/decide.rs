//! The decision made from the steps' verdicts, and the events that it causes.

pub(crate) mod charging;
pub(crate) mod finding;
pub(crate) mod ladder;
pub(crate) mod local_time;
pub(crate) mod measured;
pub(crate) mod precheck;
pub(crate) mod reasons;
pub(crate) mod session_folder;
pub(crate) mod times;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    ApprovalAbout, ApprovalConsumed, ApprovalRequested, BoundedList, BudgetCharged, BudgetExceeded,
    ClockOffset, Count, DecisionInputs, DecisionMade, DimensionPart, LoopDetected, LoopKind,
    MAX_COMMAND_PARTS, Mode, Name, Obligations, OnExceed, OutcomeRules, ReasonCode, Risk, RunAborted, Step,
    Verdict, Words,
};

use crate::calls::approval_ids::id_of_position;
use crate::calls::approvals::Claim;
use crate::calls::grants::{GrantSubject, may_lift};
use crate::decide::ladder::{Evaluation, claim, evaluate, mode_of};
use crate::decide::reasons::{ReasonNames, words};
use crate::decide::times::CallTimes;
use crate::loop_guard::{Objection, OngoingLoop};
use crate::reactor::examination::CallFacts;
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::state::State;
use crate::tools::arguments::PlaceText;
use crate::trust::breaker::Transition;
use crate::version::{has_no_dead_ends, is_isolated, is_strict, needs_room_for_approvals};

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

/// The effect of a person's word on a call that the steps would have reviewed.
enum ReviewOutcome {
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

/// Decides about a call whose request stands at this position; 0 is for a prediction, which records nothing. A recorded decision
/// notes the facts that it rests on.
pub(crate) fn decide(
    state: &State,
    facts: &CallFacts,
    position: u64,
    time: Micros,
) -> Result<DecisionEvents, ReactorRefusal> {
    let mut evaluation = evaluate(state, facts, time)?;
    let deciding = evaluation.deciding();
    let (mut verdict, mut code) =
        deciding.map_or((Verdict::Allow, ReasonCode::Allowed), |finding| (finding.verdict, finding.code));
    let mut detail = deciding.and_then(|finding| finding.detail.clone());
    let mode = mode(state, facts, code);
    let is_allowed = |verdict| verdict == Verdict::Allow || mode == Mode::Observe;
    let mut decided = ReviewParts::default();
    let tool = state.registry().get(&facts.tool, facts.server.as_deref());
    let times = state.times_of(tool.map(AsRef::as_ref));
    if verdict == Verdict::Review && mode == Mode::Enforce {
        match review_outcome(state, facts, &evaluation, time) {
            ReviewOutcome::Approved(approval) => {
                (verdict, code) = (Verdict::Allow, ReasonCode::Approved);
                decided.consumed =
                    Some(ApprovalConsumed { approval: approval.clone(), call: facts.call.clone() });
                decided.approval = Some(approval);
            }
            ReviewOutcome::Granted(grant) => {
                (verdict, code) = (Verdict::Allow, ReasonCode::Granted);
                decided.grant = Some(grant);
            }
            ReviewOutcome::Refused(refused, approval) => {
                code = refused;
                decided.approval = Some(approval);
            }
            ReviewOutcome::Waits(approval, expires) => {
                decided.waits = Some(approval.clone());
                decided.approval = Some(approval);
                decided.expires = Some(expires);
            }
            ReviewOutcome::No(approval, no) => {
                (verdict, code, detail) = (Verdict::Deny, no, None);
                evaluation.deny_reviewed(code);
                decided.approval = Some(approval);
            }
            ReviewOutcome::Full(what) => {
                evaluation.deny(Step::Clock, ReasonCode::StateFull, what);
                (verdict, code, detail) = (Verdict::Deny, ReasonCode::StateFull, Some(what.to_owned()));
            }
            ReviewOutcome::Asks(refused) => {
                code = refused.unwrap_or(code);
                decided.expires = Some(time.0.saturating_add(times.approval.0));
                if let Some(id) = approval_to_ask_for(facts, position)? {
                    let request = request_approval(state, facts, &evaluation, (id, &times), time);
                    decided.waits = Some(request.approval.clone());
                    decided.approval = Some(request.approval.clone());
                    decided.requested = Some(request);
                }
            }
        }
    }
    if is_allowed(verdict) {
        decided.expires = Some(time.0.saturating_add(times.start.0));
    }
    // A prediction asks nobody: no approval waits yet.
    let waits = decided.waits.as_deref().filter(|_| position > 0 || decided.requested.is_none());
    let measured = state.measured(facts, &evaluation, (verdict, code), time);
    let reason = words(
        code,
        &ReasonNames {
            tool: &facts.tool,
            context: facts.dimension.context(),
            agent: facts.agent.as_deref(),
            detail: detail.as_deref(),
            approval: waits,
            measured,
        },
    );
    let decision = DecisionMade {
        call: facts.call.clone(),
        verdict,
        mode,
        reason_code: code,
        reason,
        rule: evaluation.rule.clone(),
        ladder: evaluation.ladder(),
        approval: decided.approval,
        grant: decided.grant,
        expires: decided.expires,
        deadline: deadline(&times, facts, (verdict, mode), time),
        obligations: (verdict == Verdict::Allow)
            .then(|| obligations(state, facts, evaluation.excludes_secrets))
            .flatten(),
        earlier_outcome: evaluation.earlier_outcome,
        retry_after_ms: evaluation.retry_after,
        examined: None,
        inputs: inputs(state, facts, &evaluation),
    };
    let aborted = aborted(&decision, facts, &evaluation);
    Ok(DecisionEvents {
        aborted,
        transition: evaluation.transition,
        decision,
        consumed: decided.consumed,
        requested: decided.requested,
        reserved: if is_allowed(verdict) { evaluation.budgets.reserved } else { Vec::new() },
        exceeded: evaluation.budgets.exceeded,
        round: evaluation.round.and_then(|objection| detected(facts, objection)),
    })
}

/// Returns the end of the run of a call that met a budget which aborts it.
fn aborted(decision: &DecisionMade, facts: &CallFacts, evaluation: &Evaluation) -> Option<RunAborted> {
    let is_meant = decision.mode == Mode::Enforce && decision.verdict == Verdict::Deny;
    let run = facts.run.as_deref().filter(|_| is_meant && evaluation.aborts_run())?;
    let reason = match &evaluation.budgets.strictest {
        Some((OnExceed::Abort, budget)) => format!("the budget `{budget}` is spent"),
        _ => "it took all the calls or steps that it may".to_owned(),
    };
    Some(RunAborted { run: Name::new(run).ok()?, by: None, reason: Words::new(reason).ok()? })
}

fn detected(facts: &CallFacts, objection: Objection) -> Option<LoopDetected> {
    let kind = objection.untold?;
    let is_same = kind == LoopKind::IdenticalCalls;
    let calls = match objection.turning {
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

/// The additions of a person's word to a decision.
#[derive(Default)]
struct ReviewParts {
    approval: Option<Name>,
    /// The approval that a person has to give first.
    waits: Option<Name>,
    grant: Option<Name>,
    expires: Option<u64>,
    consumed: Option<ApprovalConsumed>,
    requested: Option<ApprovalRequested>,
}

/// Returns the mode of a decision. Panic and suspension hold in every mode, and nothing is allowed by a state that cannot be read.
fn mode(state: &State, facts: &CallFacts, code: ReasonCode) -> Mode {
    let always = matches!(code, ReasonCode::Panic | ReasonCode::AgentSuspended | ReasonCode::StateUnreadable);
    if always && !facts.imported { Mode::Enforce } else { mode_of(state, facts) }
}

fn review_outcome(state: &State, facts: &CallFacts, evaluation: &Evaluation, time: Micros) -> ReviewOutcome {
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

/// Returns the id of the approval that a call asks for; `None` for a prediction.
fn approval_to_ask_for(facts: &CallFacts, position: u64) -> Result<Option<Name>, ReactorRefusal> {
    if !is_isolated(facts.reactor_version) {
        return Ok(Some(id_of_position(position)));
    }
    if facts.drawn_approval.is_none() && position > 0 {
        return Err(undrawn());
    }
    Ok(facts.drawn_approval.clone())
}

/// Returns the refusal for an approval whose id was not drawn.
pub(crate) fn undrawn() -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::Moved, "no id was drawn for its approval; send it again")
}

fn request_approval(
    state: &State,
    facts: &CallFacts,
    evaluation: &Evaluation,
    (approval, times): (Name, &CallTimes),
    time: Micros,
) -> ApprovalRequested {
    let destinations = facts.examined.as_ref().map(|found| found.destinations.clone());
    let (parts, more_parts) =
        if is_isolated(facts.reactor_version) { shown_parts(facts) } else { (None, None) };
    ApprovalRequested {
        approval,
        about: ApprovalAbout::Call,
        call: facts.call.clone(),
        tool: facts.tool.clone(),
        server: facts.server.clone(),
        cwd: facts.cwd.clone(),
        // Nothing is counted for a call that could not be read.
        dimension: (!facts.is_uncounted()).then(|| facts.dimension.clone()),
        destinations: destinations.and_then(|places| BoundedList::new(places).ok()),
        tool_revision: facts.tool_revision,
        action_digest: facts.action_digest().cloned(),
        policy_version: state.policy_version(),
        approvers: approvers(),
        requested_by: facts.actor.clone(),
        agent: facts.agent.clone(),
        expires: time.0.saturating_add(times.approval.0),
        at_end: times.recorded_end(),
        reason_codes: is_strict(facts.reactor_version)
            .then(|| BoundedList::new(evaluation.reviews()).ok())
            .flatten(),
        contract: None,
        more_parts,
        parts,
    }
}

/// Returns the parts of a command that an approval shows, and how many there are besides.
fn shown_parts(facts: &CallFacts) -> (Option<BoundedList<PlaceText, 1, MAX_COMMAND_PARTS>>, Option<Count>) {
    let examined =
        facts.examined.as_ref().filter(|found| found.reach.as_ref().is_some_and(|reach| reach.is_command));
    let mut parts = examined.map(|found| found.parts.clone()).unwrap_or_default();
    // That there may be others is never among those that are left out.
    parts.sort_by_key(|part| part.as_str() != DimensionPart::OPAQUE);
    let (shown, more) = parts.split_at(parts.len().min(MAX_COMMAND_PARTS));
    let more = u64::try_from(more.len()).ok().filter(|more| *more > 0).and_then(|more| Count::new(more).ok());
    (BoundedList::new(shown.to_vec()).ok(), more)
}

/// Roles that may resolve an approval.
pub(crate) fn approvers() -> Vec<Name> {
    ["operator", "admin"].into_iter().filter_map(|role| Name::new(role).ok()).collect()
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
