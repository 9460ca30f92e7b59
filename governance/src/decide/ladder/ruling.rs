//! The ruling of the active policy on a call: its rules, and the files that it guards.

use bitacora_formats::Micros;
use bitacora_vocabulary::{LocalTimes, ReasonCode, Risk, Verdict};

use crate::decide::finding::{StepObjection, deny, review};
use crate::policy::{
    ArgumentMatches, CallPart, Destinations, FileGuardResult, GuardFinding, Policy, PolicyQuestion,
    RuleVerdict,
};
use crate::reactor::examination::CallFacts;
use crate::state::State;
use crate::tools::arguments::{NO_CONTEXT, clean_folder};
use crate::version::guards_files;

/// Returns the verdict of the policy's guarded files on a call. Earlier rules know no such files.
pub(crate) fn by_guarded_files(guarded: &FileGuardResult, version: u32) -> StepObjection {
    match guarded.finding.filter(|_| guards_files(version))? {
        GuardFinding::Secret => deny(ReasonCode::SecretFile),
        GuardFinding::SecretPossible => review(ReasonCode::SecretFilePossible),
        GuardFinding::RunsByItself => review(ReasonCode::RunsByItself),
    }
}

/// Returns the stricter of two; the first where they are alike. So no consent to a rule's review lifts a finding about files.
pub(crate) fn strictest(one: StepObjection, other: StepObjection) -> StepObjection {
    let verdict = |said: &StepObjection| said.as_ref().map(|(verdict, ..)| *verdict);
    if verdict(&other) > verdict(&one) { other } else { one }
}

/// The ruling of the active policy.
pub(crate) enum PolicyRuling<'s> {
    /// None is active.
    NoPolicy,
    /// It cannot be read.
    Unreadable,
    /// This.
    Said(RuleVerdict<'s>),
}

pub(super) fn ruled<'s>(
    state: &'s State,
    facts: &CallFacts,
    risk: Option<Risk>,
    (time, local): (Micros, Option<&LocalTimes>),
) -> PolicyRuling<'s> {
    if state.policy_version().is_none() {
        return PolicyRuling::NoPolicy;
    }
    let Some(policy) = state.policy() else { return PolicyRuling::Unreadable };
    let circumstances = RuleContext {
        risk,
        time_of_day: state.time_of_day(facts, time),
        local,
        is_in_session_folder: facts.is_in(state.session_folder(facts).as_ref()),
    };
    PolicyRuling::Said(rule_on(policy, facts, &facts.matches, &circumstances))
}

impl State {
    /// Returns the time of day that rules hold by, at a governed time.
    pub(super) fn time_of_day(&self, facts: &CallFacts, time: Micros) -> Micros {
        if facts.imported { time } else { self.clock().shown_at(time) }
    }
}

/// The circumstances that rules look at and that the call itself does not say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleContext<'a> {
    /// The risk that the registry gives the tool, where it knows the tool.
    pub(crate) risk: Option<Risk>,
    pub(crate) time_of_day: Micros,
    /// The local times in the zones that the policy names.
    pub(crate) local: Option<&'a LocalTimes>,
    /// `true` if the call works in the folder of its session; `None` where that is not known.
    pub(crate) is_in_session_folder: Option<bool>,
}

/// Returns the ruling of a policy on a call. A call with several contexts, such as a command of several programs, gets the ruling
/// on the strictest of them.
pub(crate) fn rule_on<'p>(
    policy: &'p Policy,
    facts: &CallFacts,
    matches: &ArgumentMatches,
    circumstances: &RuleContext<'_>,
) -> RuleVerdict<'p> {
    let cwd = facts.cwd.as_deref().and_then(clean_folder);
    let judge = |context: CallPart<'_>| {
        policy.judge(&PolicyQuestion {
            tool: &facts.tool,
            server: facts.server.as_deref().map_or(CallPart::None, CallPart::Known),
            context,
            destinations: reached(facts),
            reach: facts.examined.as_ref().and_then(|found| found.reach.as_ref()),
            cwd: cwd.as_deref().map_or(CallPart::Unknown, CallPart::Known),
            model: facts.model.as_deref().map_or(CallPart::Unknown, CallPart::Known),
            agent: facts.agent.as_deref().map_or(CallPart::Unknown, CallPart::Known),
            role: CallPart::Known(&facts.role),
            task_type: facts.task_type.as_deref().map_or(CallPart::Unknown, CallPart::Known),
            risk: circumstances.risk,
            is_in_session_folder: circumstances.is_in_session_folder,
            time: circumstances.time_of_day,
            local: circumstances.local,
            unlisted: facts.examined.as_ref().is_some_and(|found| found.unlisted),
            arguments: matches,
            reactor_version: facts.reactor_version,
        })
    };
    let both = |one: RuleVerdict<'p>, other: RuleVerdict<'p>| {
        let certain = one.certain && other.certain;
        RuleVerdict { certain, ..one.or_perhaps(other) }
    };
    let contexts = facts.examined.as_ref().map(|found| found.parts.as_slice()).unwrap_or_default();
    let strictest = contexts.iter().map(|part| judge(CallPart::Known(part))).reduce(both);
    strictest.unwrap_or_else(|| judge(CallPart::Unknown))
}

/// Returns the places that a call reaches, as far as its arguments tell.
fn reached(facts: &CallFacts) -> Destinations<'_> {
    match &facts.examined {
        Some(examined) if examined.reach.as_ref().is_some_and(|reach| reach.runs_programs) => {
            Destinations::Unknown
        }
        Some(examined) if !examined.destinations.is_empty() => Destinations::Known(&examined.destinations),
        Some(examined) if examined.context.as_str() == NO_CONTEXT && !examined.opaque => Destinations::None,
        // Its places were read, and there are none.
        Some(examined) if examined.reach.is_some() && !examined.opaque => Destinations::None,
        Some(_) | None => Destinations::Unknown,
    }
}

pub(crate) fn by_rule(ruling: &PolicyRuling<'_>) -> StepObjection {
    let said = match ruling {
        PolicyRuling::NoPolicy => return review(ReasonCode::NoPolicy),
        PolicyRuling::Unreadable => return deny(ReasonCode::PolicyUnreadable),
        PolicyRuling::Said(said) => said,
    };
    let words = || said.rule.map(|rule| rule.reason.to_string());
    match said.verdict {
        Verdict::Deny => Some((Verdict::Deny, ReasonCode::PolicyDeny, words())),
        Verdict::Review if said.rule.is_none() => review(ReasonCode::NoRule),
        Verdict::Review => Some((Verdict::Review, ReasonCode::PolicyReview, words())),
        Verdict::Allow if said.never_auto_approve => {
            Some((Verdict::Review, ReasonCode::NeverAutoApprove, words()))
        }
        Verdict::Allow => None,
    }
}
