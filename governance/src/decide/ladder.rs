//! The ladder of steps that judges a call.
//! Every step is evaluated, the strictest verdict wins, and the first step that gives it is the reason.

mod ruling;

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    BlastRadius, BreakerCondition, Idempotency, LadderStep, LocalTimes, Milliseconds, Mode, Name, OnExceed,
    ReasonCode, Risk, Score, Step, TrustUse, UnregisteredTools, Verdict,
};

use crate::budgets::BudgetFindings;
use crate::calls::approvals::Claim;
use crate::calls::keys::{KeyFinding, is_outlived};
use crate::decide::charging::overspent;
use crate::decide::finding::{StepFinding, StepObjection, deny, review};
use crate::decide::times;
use crate::loop_guard::{LoopQuestion, Objection};
use crate::rate::RateRefusal;
use crate::reactor::examination::CallFacts;
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::state::State;
use crate::state::enforcement_mode::Subject;
use crate::tools::arguments::{ArgumentFindings, ArgumentsRefusal};
use crate::tools::blast_radius::effective_blast_radius;
use crate::tools::registry::RegisteredTool;
use crate::trust::breaker::Transition;
use crate::trust::record::TrustRecord;
use crate::trust::rules::{Assessment, TrustStanding, assess};
use crate::version::{guards_files, has_budgets, has_no_dead_ends};

use ruling::ruled;

pub(crate) use ruling::{PolicyRuling, RuleContext, by_guarded_files, by_rule, rule_on, strictest};

/// All that the steps said of a call, before a person's word is taken into account.
#[derive(Debug, Clone)]
pub(crate) struct Evaluation {
    pub(crate) findings: Vec<StepFinding>,
    pub(crate) rule: Option<Name>,
    pub(crate) record: TrustRecord,
    pub(crate) assessment: Assessment,
    /// The score that the policy asks for.
    pub(crate) least_score: Option<Score>,
    pub(crate) breaker: BreakerCondition,
    /// The transition that the request causes at the breaker.
    pub(crate) transition: Option<Transition>,
    pub(crate) earlier_outcome: Option<u64>,
    pub(crate) retry_after: Option<Milliseconds>,
    /// The reservations for the call, if it runs, and the reports about budgets that are due.
    pub(crate) budgets: BudgetFindings,
    /// The loop that the call is a part of.
    pub(crate) round: Option<Objection>,
    /// The local times in the zones that it looks at.
    pub(crate) local_times: Option<LocalTimes>,
    /// `true` if the call has to leave out the files that the policy names as secret.
    pub(crate) excludes_secrets: bool,
    /// `true` if the rule that decides has a person look at each call: no standing consent lifts that.
    pub(crate) asks_each_time: bool,
}

impl Evaluation {
    /// Returns the step that decides: the first of those with the strictest verdict. `None` where every step allows.
    pub(crate) fn deciding(&self) -> Option<&StepFinding> {
        let strictest = self.findings.iter().map(|finding| finding.verdict).max()?;
        self.findings.iter().find(|finding| finding.verdict == strictest && strictest != Verdict::Allow)
    }

    /// Returns the reasons for which a person is to look at it: those of all steps that would have it reviewed.
    pub(crate) fn reviews(&self) -> Vec<ReasonCode> {
        let reviews = self.findings.iter().filter(|finding| finding.verdict == Verdict::Review);
        reviews.map(|finding| finding.code).collect()
    }

    /// Returns the ladder as decisions record it.
    pub(crate) fn ladder(&self) -> Vec<LadderStep> {
        let step = |finding: &StepFinding| LadderStep {
            step: finding.step,
            verdict: finding.verdict,
            code: (finding.verdict != Verdict::Allow).then_some(finding.code),
        };
        self.findings.iter().map(step).collect()
    }

    /// Makes a step deny afterwards, for a reason that shows only behind all steps.
    pub(crate) fn deny(&mut self, step: Step, code: ReasonCode, detail: &str) {
        for finding in self.findings.iter_mut().filter(|finding| finding.step == step) {
            (finding.verdict, finding.code) = (Verdict::Deny, code);
            finding.detail = Some(detail.to_owned());
        }
    }

    /// Makes the steps that would have it reviewed deny, for a person's rejection.
    pub(crate) fn deny_reviewed(&mut self, code: ReasonCode) {
        for finding in self.findings.iter_mut().filter(|finding| finding.verdict == Verdict::Review) {
            (finding.verdict, finding.code, finding.detail) = (Verdict::Deny, code, None);
        }
    }

    /// Returns `true` if a budget is spent that aborts the run.
    pub(crate) fn aborts_run(&self) -> bool {
        let by_budget = self.budgets.strictest.as_ref().map(|(on_exceed, _)| *on_exceed);
        let is_aborted = self.round.as_ref().is_some_and(|round| round.code == ReasonCode::RunAborted);
        let by_round = self.round.as_ref().map(|round| round.on_exceed);
        !is_aborted && by_budget.into_iter().chain(by_round).any(|on_exceed| on_exceed == OnExceed::Abort)
    }

    fn add(&mut self, step: Step, finding: Option<(Verdict, ReasonCode, Option<String>)>) {
        let (verdict, code, detail) = finding.unwrap_or((Verdict::Allow, ReasonCode::Allowed, None));
        self.findings.push(StepFinding { step, verdict, code, detail });
    }
}

/// Asks every step about a call.
///
/// # Errors
/// The facts that the call was examined with have changed since, or its idempotency key stands for another call. Neither is a
/// verdict.
pub(crate) fn evaluate(state: &State, facts: &CallFacts, time: Micros) -> Result<Evaluation, ReactorRefusal> {
    let tool = state.registry().get(&facts.tool, facts.server.as_deref()).map(AsRef::as_ref);
    refuse_moved(state, facts, tool)?;
    let risk = tool.map(|tool| tool.document.risk);
    let mut evaluation = begin(state, facts, time);
    evaluation.add(Step::Panic, if facts.imported { None } else { stopped(state, facts) });
    evaluation.add(Step::Clock, if facts.imported { None } else { unfounded(state, facts, time) });
    evaluation.add(Step::Registry, if tool.is_none() { unregistered(state, facts) } else { None });
    evaluation.add(Step::Role, tool.and_then(|tool| not_for_role(tool, facts)));
    evaluation.add(Step::Arguments, unfit_for(tool, facts));
    let (said, earlier_outcome) = repeated(state, facts, tool, time)?;
    evaluation.earlier_outcome = earlier_outcome;
    evaluation.add(Step::Idempotency, outlived(state, tool, facts, time).or(said));
    let (said, retry_after) = too_many(state, facts, tool, (time, evaluation.local_times.as_ref()));
    evaluation.retry_after = retry_after;
    evaluation.add(Step::Rate, said);
    if has_budgets(facts.reactor_version) {
        evaluation.budgets = state.budgets_due(facts, tool, time);
        evaluation.add(Step::Budget, overspent(&evaluation.budgets));
        let (said, round) = goes_round(state, facts, time);
        evaluation.round = round;
        evaluation.add(Step::Loop, said);
    }
    let is_critical = is_critical(tool, facts) || state.is_critical_by_contract(facts, time);
    let broken = broken(evaluation.breaker, stopped_verdict(facts.reactor_version, is_critical));
    evaluation.add(Step::Breaker, broken.or_else(|| evaded(state, facts, &evaluation.assessment, time)));
    let ruling = ruled(state, facts, risk, (time, evaluation.local_times.as_ref()));
    if let PolicyRuling::Said(said) = &ruling {
        evaluation.rule = said.rule.map(|rule| rule.id.clone());
        evaluation.least_score = said.min_trust_score;
        evaluation.asks_each_time = said.never_auto_approve;
    }
    let guarded = by_guarded_files(&facts.guarded, facts.reactor_version);
    evaluation.excludes_secrets = facts.guarded.excludes && guards_files(facts.reactor_version);
    evaluation.add(Step::Policy, strictest(guarded, by_rule(&ruling)));
    let is_uncounted = facts.is_uncounted();
    let is_probed = state.is_probed(&facts.dimension, time);
    let is_denied = is_critical && blocked_until(state, &evaluation.record).is_none_or(|until| time < until);
    let blocked = stopped_verdict(facts.reactor_version, is_denied);
    let by_trust = by_trust(&ruling, &evaluation.assessment, is_probed, blocked);
    evaluation.add(Step::Trust, by_trust.filter(|_| !is_uncounted));
    let demanded = tool.and_then(|tool| by_registry(tool, is_critical));
    evaluation.add(Step::Obligations, state.by_contract(facts, time).or(demanded));
    Ok(evaluation)
}

/// Refuses a call whose facts have changed since it was examined.
fn refuse_moved(
    state: &State,
    facts: &CallFacts,
    tool: Option<&RegisteredTool>,
) -> Result<(), ReactorRefusal> {
    let moved = |what: &str| {
        ReactorRefusal::new(RefusalCode::Moved, format!("{what} while this was asked; ask again"))
    };
    if tool.map(|tool| tool.revision) != facts.tool_revision {
        return Err(moved("the tool's registration changed"));
    }
    if state.policy_version() != facts.policy_version {
        return Err(moved("another policy was activated"));
    }
    Ok(())
}

fn begin(state: &State, facts: &CallFacts, time: Micros) -> Evaluation {
    let is_uncounted = facts.is_uncounted();
    let record =
        if is_uncounted { TrustRecord::default() } else { state.trust_of(&facts.dimension, facts.imported) };
    // A breaker, a stop or a limit of today says nothing of calls that were made elsewhere.
    let is_broken_here = !facts.imported && !is_uncounted;
    let breaker = state.breaker(&facts.dimension).filter(|_| is_broken_here).unwrap_or_default();
    // While a jump of the clock is not accepted, nobody can tell if a cooldown is over.
    let is_timed = !facts.imported && state.clock().jump().is_none();
    let transition = breaker.due_on_request(time).filter(|_| is_timed);
    let condition = match transition {
        Some(Transition::HalfOpen) => BreakerCondition::HalfOpen,
        _ => breaker.condition(),
    };
    Evaluation {
        findings: Vec::with_capacity(Step::ALL.len()),
        rule: None,
        assessment: assess(&record, &state.trust_rules(), time),
        least_score: None,
        record,
        breaker: condition,
        transition,
        earlier_outcome: None,
        retry_after: None,
        budgets: BudgetFindings::default(),
        round: None,
        local_times: state.local_times(facts, state.time_of_day(facts, time)),
        excludes_secrets: false,
        asks_each_time: false,
    }
}

/// Returns the verdict on a call whose tool nobody registered: the same for all such calls, as the policy sets it.
fn unregistered(state: &State, facts: &CallFacts) -> StepObjection {
    let said = state
        .policy()
        .filter(|_| has_no_dead_ends(facts.reactor_version))
        .map(crate::policy::Policy::unregistered);
    by_unregistered(said.unwrap_or_default())
}

pub(crate) const fn by_unregistered(said: UnregisteredTools) -> StepObjection {
    match said {
        UnregisteredTools::Deny => deny(ReasonCode::ToolUnknown),
        UnregisteredTools::Review => review(ReasonCode::ToolUnknown),
    }
}

/// Arguments that could not even be looked at fit nothing.
fn unfit_for(tool: Option<&RegisteredTool>, facts: &CallFacts) -> StepObjection {
    match &facts.examined {
        Some(examined) => unfit(examined),
        None if tool.is_some() => deny(ReasonCode::ArgumentsInvalid),
        None => None,
    }
}

fn stopped(state: &State, facts: &CallFacts) -> StepObjection {
    let stops = state.suspensions();
    if let Some(reason) = &stops.panic {
        return Some((Verdict::Deny, ReasonCode::Panic, Some(reason.clone())));
    }
    let suspended = facts.agent.as_ref().and_then(|agent| stops.suspended.get(agent.as_str()));
    suspended.map(|reason| (Verdict::Deny, ReasonCode::AgentSuspended, Some(reason.clone())))
}

/// Returns the reason for which no decision can rest on the state, or on the time.
fn unfounded(state: &State, facts: &CallFacts, time: Micros) -> StepObjection {
    if let Some(position) = state.unreadable() {
        return Some((Verdict::Deny, ReasonCode::StateUnreadable, Some(position.to_string())));
    }
    if state.clock().jump().is_some() {
        return deny(ReasonCode::ClockUntrusted);
    }
    if let Some(what) = state.full(facts, time) {
        return Some((Verdict::Deny, ReasonCode::StateFull, Some(what.to_owned())));
    }
    if facts.deadline_ms.is_some_and(|deadline| deadline.get() == 0) {
        return deny(ReasonCode::DeadlinePassed);
    }
    None
}

fn not_for_role(tool: &RegisteredTool, facts: &CallFacts) -> StepObjection {
    let allowed = tool.document.allowed_roles.contains(&facts.role);
    if allowed {
        None
    } else {
        Some((Verdict::Deny, ReasonCode::RoleNotAllowed, Some(facts.role.to_string())))
    }
}

fn unfit(found: &ArgumentFindings) -> StepObjection {
    let code = match found.refusal {
        None if found.opaque => return review(ReasonCode::ArgumentsOpaque),
        None => return None,
        Some(ArgumentsRefusal::DigestOnly) => ReasonCode::DigestOnly,
        Some(ArgumentsRefusal::Invalid | ArgumentsRefusal::NotJson) => ReasonCode::ArgumentsInvalid,
        Some(ArgumentsRefusal::DestinationOutside) => ReasonCode::DestinationOutside,
        Some(ArgumentsRefusal::PathOutside) => ReasonCode::PathOutside,
        Some(ArgumentsRefusal::TooLarge) => ReasonCode::ArgumentsTooLarge,
    };
    let first = found.violations.first();
    let place = first.map(|first| format!("{} does not hold at `{}`", first.keyword, first.pointer));
    Some((Verdict::Deny, code, place))
}

fn repeated(
    state: &State,
    facts: &CallFacts,
    tool: Option<&RegisteredTool>,
    time: Micros,
) -> Result<(StepObjection, Option<u64>), ReactorRefusal> {
    if facts.imported {
        return Ok((None, None));
    }
    let Some(key) = facts.scoped_key() else {
        let needs_one = tool.is_some_and(|tool| tool.document.idempotency == Idempotency::Keyed);
        return Ok((if needs_one { deny(ReasonCode::KeyRequired) } else { None }, None));
    };
    let may_change = tool.is_none_or(|tool| tool.document.risk != Risk::Read);
    match state.keys().check(&key, facts.action_digest(), may_change, time) {
        KeyFinding::Free => Ok((None, None)),
        // A call that is only observed is recorded with any verdict.
        KeyFinding::OtherAction if mode_of(state, facts) == Mode::Observe => {
            Ok((deny(ReasonCode::KeyReused), None))
        }
        KeyFinding::OtherAction => Err(ReactorRefusal::new(
            RefusalCode::KeyReused,
            "the idempotency key stands for a call with other arguments; use a new key",
        )),
        KeyFinding::Objection { code, verdict, outcome } => Ok((Some((verdict, code, None)), outcome)),
    }
}

/// Objects to a key that shows by itself that it is too old, for a tool that takes keys.
fn outlived(state: &State, tool: Option<&RegisteredTool>, facts: &CallFacts, time: Micros) -> StepObjection {
    let is_keyed = tool.is_some_and(|tool| tool.document.idempotency == Idempotency::Keyed);
    let key = facts.idempotency_key.as_deref().filter(|_| is_keyed && !facts.imported)?;
    if is_outlived(key, state.policies.get().key_life_s(), state.clock(), time) {
        deny(ReasonCode::KeyExpired)
    } else {
        None
    }
}

/// Only calls of known tools are counted: names that callers invent would fill the map.
fn too_many(
    state: &State,
    facts: &CallFacts,
    tool: Option<&RegisteredTool>,
    (time, local): (Micros, Option<&LocalTimes>),
) -> (StepObjection, Option<Milliseconds>) {
    if facts.imported || tool.is_none() {
        return (None, None);
    }
    match state.rates().due(&facts.rate_question(), local, time) {
        Ok(()) => (None, None),
        Err(RateRefusal::Limited { retry_after, .. }) => (deny(ReasonCode::RateLimited), Some(retry_after)),
        Err(RateRefusal::Full) => {
            (Some((Verdict::Deny, ReasonCode::StateFull, Some("callers with a rate".to_owned()))), None)
        }
    }
}

/// Returns the mode of a call, apart from verdicts that hold in every mode. A call that was recorded elsewhere was decided there,
/// and is only observed.
pub(crate) fn mode_of(state: &State, facts: &CallFacts) -> Mode {
    if facts.imported {
        return Mode::Observe;
    }
    let role = facts.role.as_str();
    state.modes().of(&Subject { tool: &facts.tool, agent: facts.agent.as_deref(), role })
}

/// Checks for a loop. A denial ends with another call, with a checkpoint, or with a raised limit.
fn goes_round(state: &State, facts: &CallFacts, time: Micros) -> (StepObjection, Option<Objection>) {
    if facts.imported {
        return (None, None);
    }
    let bounds = state.policies.get().bounds();
    let alone = times::alone(&state.policy_times());
    let question = LoopQuestion { alone, ..facts.round_question(state.calls.get(&facts.call)) };
    match state.loop_guard.due(&question, bounds, time) {
        Err(what) => (Some((Verdict::Deny, ReasonCode::StateFull, Some(what.to_owned()))), None),
        Ok(found) => {
            let said = found.map(|found| (found.verdict(), found.code, Some(found.count.to_string())));
            (said, found)
        }
    }
}

/// Returns the verdict on a call that its breaker or its trust stops: a denial if it could do damage that cannot be made good, else
/// a review. The reviews bring the dimension further outcomes, so that a stop for a while does not last for ever.
pub(crate) const fn stopped_verdict(rules: u32, is_critical: bool) -> Verdict {
    if is_critical || !has_no_dead_ends(rules) { Verdict::Deny } else { Verdict::Review }
}

/// Returns the time until which critical calls of a blocked dimension are denied: after a time without outcomes a person looks at
/// them.
pub(crate) fn blocked_until(state: &State, record: &TrustRecord) -> Option<Micros> {
    let life = times::blocked(&state.policy_times());
    record.last_updated.map(|last| Micros(last.0.saturating_add(life.0)))
}

fn is_critical(tool: Option<&RegisteredTool>, facts: &CallFacts) -> bool {
    let registered = tool.map_or(BlastRadius::Low, |tool| tool.document.blast_radius);
    effective_blast_radius(registered, facts.blast_radius) == BlastRadius::Critical
}

const fn broken(breaker: BreakerCondition, open: Verdict) -> StepObjection {
    match breaker {
        BreakerCondition::Closed => None,
        BreakerCondition::Open => Some((open, ReasonCode::BreakerOpen, None)),
        BreakerCondition::HalfOpen => review(ReasonCode::BreakerProbe),
    }
}

/// Reviews a call whose tool is stopped under another model or task type. The caller names both, and could evade a stop by other
/// names.
fn evaded(state: &State, facts: &CallFacts, own: &Assessment, time: Micros) -> StepObjection {
    let has_earned = facts.imported || facts.is_uncounted() || own.standing == TrustStanding::AutoApprove;
    if !has_earned && state.is_stopped_elsewhere(&facts.dimension, time) {
        review(ReasonCode::StoppedElsewhere)
    } else {
        None
    }
}

/// Returns the verdict of trust; `blocked` is the one for a blocked dimension. An operator may have a blocked dimension reviewed if
/// the policy lets it be tried.
pub(crate) fn by_trust(
    ruling: &PolicyRuling<'_>,
    assessment: &Assessment,
    is_probed: bool,
    blocked: Verdict,
) -> StepObjection {
    let (least, respected) = match ruling {
        PolicyRuling::Said(said) => (said.min_trust_score, said.trust == TrustUse::Respect),
        PolicyRuling::NoPolicy | PolicyRuling::Unreadable => (None, true),
    };
    let score = || Some(assessment.score.to_string());
    match assessment.standing {
        TrustStanding::Blocked if is_probed && assessment.may_be_probed => {
            Some((Verdict::Review, ReasonCode::TrustProbe, score()))
        }
        TrustStanding::Blocked => Some((blocked, ReasonCode::TrustBlocked, score())),
        _ if least.is_some_and(|least| assessment.score < least) => {
            Some((Verdict::Review, ReasonCode::ScoreTooLow, score()))
        }
        TrustStanding::RequireReview if respected => {
            Some((Verdict::Review, ReasonCode::TrustRequireReview, score()))
        }
        TrustStanding::RequireReview | TrustStanding::AutoApprove => None,
    }
}

fn by_registry(tool: &RegisteredTool, is_critical: bool) -> StepObjection {
    if is_critical {
        review(ReasonCode::BlastRadius)
    } else if tool.document.requires_review {
        review(ReasonCode::ToolRequiresReview)
    } else {
        None
    }
}

/// Returns the facts that an approval has to match to allow the call.
pub(crate) fn claim<'a>(facts: &'a CallFacts, policy_version: Option<u64>) -> Claim<'a> {
    Claim {
        tool: &facts.tool,
        agent: facts.agent.as_deref(),
        actor: facts.actor.as_deref(),
        action_digest: facts.action_digest(),
        server: facts.server.as_deref(),
        cwd: facts.cwd.as_deref(),
        tool_revision: facts.tool_revision,
        policy_version,
        reviews: None,
    }
}
