//! Another policy, applied to the facts of a recorded decision: a what-if.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    ClockOffset, DecisionMade, LadderStep, Name, ReasonCode, Step, ToolRequested, Verdict,
};

use crate::decide::finding::StepObjection;
use crate::decide::ladder::{
    self, PolicyRuling, RuleContext, by_guarded_files, by_rule, by_trust, by_unregistered, rule_on,
    stopped_verdict,
};
use crate::decide::precheck::matches_of;
use crate::decide::times;
use crate::policy::Policy;
use crate::reactor::examination::{CallFacts, is_sealed_workspace};
use crate::tools::registry::Registry;
use crate::trust::rules::{TrustInputs, judge};
use crate::version::{has_no_dead_ends, is_isolated, is_known};

/// A call that was decided.
#[derive(Debug, Clone, Copy)]
pub struct RecordedCall<'a> {
    /// The decision on it.
    pub decision: &'a DecisionMade,
    /// Its request, where that may still be read. Without it conditions on arguments are unclear under every other policy.
    pub request: Option<&'a ToolRequested>,
    /// The time of the decision's frame.
    pub time: Micros,
}

/// The verdict of all steps together on a call. A person's word, a grant and the mode stay out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepsVerdict {
    /// The strictest.
    pub verdict: Verdict,
    /// The reason, from the first step that gives it.
    pub code: ReasonCode,
    /// The rule that matched.
    pub rule: Option<Name>,
}

/// The verdict on a call, and the one under another policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatIf {
    /// The tool that was to be called.
    pub tool: Name,
    /// The verdict as it is recorded.
    pub recorded: StepsVerdict,
    /// The verdict under the other policy, all else being as it was.
    pub otherwise: StepsVerdict,
    /// `true` if no unknown fact about the call had to be assumed.
    pub certain: bool,
}

impl WhatIf {
    /// Judges a call by the rules and the trust parameters of a policy. The counts and all other steps stay as they are recorded:
    /// no other outcomes are imagined. The risk of a tool is known while it stands in the registry as it did. `None` where the
    /// facts of the decision are not recorded, or where this program does not have its rules.
    #[must_use]
    pub fn of(policy: &Policy, tools: &Registry, call: &RecordedCall<'_>) -> Option<Self> {
        let decision = call.decision;
        if !is_known(decision.inputs.reactor_version) {
            return None;
        }
        let facts = CallFacts::of(decision)?;
        let inputs = &decision.inputs;
        let time = facts.governed_time(call.time);
        let matches = call.request.map(|request| matches_of(policy, request));
        let tool = tools.get(&facts.tool, facts.server.as_deref());
        let risk =
            tool.filter(|tool| Some(tool.revision) == facts.tool_revision).map(|tool| tool.document.risk);
        let offset = decision.inputs.clock_offset_us.map_or(0, ClockOffset::get);
        let time_of_day = Micros(time.0.saturating_sub(offset));
        let matches = matches.as_ref().unwrap_or(&facts.matches);
        let is_in_session_folder = facts.is_in(inputs.session_folder.as_ref());
        let local = policy.local_times(inputs.local_times.as_ref(), time_of_day);
        let circumstances = RuleContext { risk, time_of_day, local: local.as_ref(), is_in_session_folder };
        let said = rule_on(policy, &facts, matches, &circumstances);
        let rule = said.rule.map(|rule| rule.id.clone());
        let certain = said.certain && counts_in_the_same_workspace(policy, &facts);
        let ruling = PolicyRuling::Said(said);
        let trust = judge(&TrustInputs::from(inputs), policy.trust(), time);
        let is_probed = decision.ladder.iter().any(|said| said.code == Some(ReasonCode::TrustProbe));
        let is_critical = decision.ladder.iter().any(|said| said.code == Some(ReasonCode::BlastRadius));
        let blocked_life = times::blocked(&policy.times());
        let until = inputs.last_updated.map(|last| last.saturating_add(blocked_life.0));
        let is_denied = is_critical && until.is_none_or(|until| time.0 < until);
        let blocked = stopped_verdict(inputs.reactor_version, is_denied);
        let by_trust = by_trust(&ruling, &trust, is_probed, blocked);
        let guarded = facts
            .examined
            .as_ref()
            .map(|found| policy.guard(found, facts.cwd.as_deref()))
            .unwrap_or_default();
        let guarded = by_guarded_files(&guarded, facts.reactor_version);
        let mut swapped = vec![(Step::Policy, ladder::strictest(guarded, by_rule(&ruling)))];
        if !inputs.outcome.uncounted {
            swapped.push((Step::Trust, by_trust));
        }
        let is_unregistered = decision.ladder.iter().any(|said| said.code == Some(ReasonCode::ToolUnknown));
        if is_unregistered && has_no_dead_ends(inputs.reactor_version) {
            swapped.push((Step::Registry, by_unregistered(policy.unregistered())));
        }
        Some(Self {
            tool: facts.tool,
            recorded: strictest(&decision.ladder, &[], decision.rule.clone()),
            otherwise: strictest(&decision.ladder, &swapped, rule),
            certain,
        })
    }
}

/// Returns `true` if the policy would have looked at the counts that a decision rests on. Where it tells projects apart otherwise,
/// nobody knows the counts that it would have found.
fn counts_in_the_same_workspace(policy: &Policy, facts: &CallFacts) -> bool {
    if !is_isolated(facts.reactor_version) {
        return true;
    }
    let recorded = facts.dimension.workspace();
    let otherwise = policy.workspace_rules().workspace_of(facts.cwd.as_deref());
    // Of a sealed call the working folder is not known, and the same workspace is taken for it.
    if recorded.is_some_and(is_sealed_workspace) {
        otherwise.is_some()
    } else {
        recorded == otherwise.as_deref()
    }
}

/// Returns the verdict of the steps together, where some of them give another one than is recorded.
fn strictest(ladder: &[LadderStep], swapped: &[(Step, StepObjection)], rule: Option<Name>) -> StepsVerdict {
    let mut verdict = (Verdict::Allow, ReasonCode::Allowed);
    for recorded in ladder {
        let said = match swapped.iter().find(|(step, _)| *step == recorded.step) {
            Some((_, said)) => said.as_ref().map(|(verdict, code, _)| (*verdict, *code)),
            None => recorded.code.map(|code| (recorded.verdict, code)),
        };
        if let Some(said) = said.filter(|(said, _)| *said > verdict.0) {
            verdict = said;
        }
    }
    StepsVerdict { verdict: verdict.0, code: verdict.1, rule }
}
