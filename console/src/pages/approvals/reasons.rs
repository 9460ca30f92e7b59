//! The reasons for which a call waits: the decision's reason, its steps, and what the dimension has shown.

use bitacora_api::{ApprovalAnswer, CallAnswer, DecisionAnswer, LadderStepAnswer, TrustRecordAnswer};
use maud::{Markup, html};

use super::background::Background;
use super::policy::ActivePolicy;
use crate::components::{
    Tone, badge, code_name, dimension_address, event_link, from_now, name, on_context, policy_link, reason,
    sentence, text, verdict_badge,
};
use crate::visit::Visit;

/// The reason of calls whose rule asks for more trust.
const SCORE_TOO_LOW: &str = "score-too-low";
/// Reasons of calls that more trust would let run.
const TRUST_REASONS: [&str; 2] = [SCORE_TOO_LOW, "trust-require-review"];

/// Returns why the call is reviewed.
pub(super) fn why(visit: &Visit, approval: &ApprovalAnswer, behind: &Background) -> Markup {
    html! {
        h3 { "Why it is reviewed" }
        p.codes { @for code in approval.reason_codes.iter().flatten() { (badge(code, Tone::Waits)) " " } }
        @match &behind.decision {
            Ok(decision) => {
                p { (reason(for_people(&decision.reason, &approval.id), &approval.tool, approval.context.as_deref())) }
                (rule(visit, decision))
                @if let Some(steps) = &decision.ladder { (ladder(steps)) }
            },
            Err(why) => (missing("The decision is not known", why)),
        }
    }
}

/// Returns the reason without what it tells the agent to do with the approval.
fn for_people<'a>(reason: &'a str, approval: &str) -> &'a str {
    reason.split_once(&format!(" Approval {approval} ")).map_or(reason, |(before, _)| before)
}

fn rule(visit: &Visit, decision: &DecisionAnswer) -> Markup {
    let Some(version) = decision.policy_version.as_deref() else { return html! {} };
    html! { p.note {
        @if let Some(rule) = &decision.rule { "Rule " code { (text(rule)) } " of " }
        (policy_link(visit, version)) ", decided at " (event_link(visit, &decision.position))
    } }
}

/// Returns the steps of a decision in their order. Those that let the call pass stand together.
pub(super) fn ladder(steps: &[LadderStepAnswer]) -> Markup {
    let passed = steps.iter().filter(|step| step.verdict == "allow").count();
    html! {
        details.ladder {
            summary { (passed) " of " (steps.len()) " checks let it pass" }
            ol { @for step in steps {
                li { span.step { (text(&step.step)) } " " (verdict_badge(&step.verdict))
                    @if let Some(code) = &step.code { " " code { (text(code)) } } }
            } }
        }
    }
}

/// Returns what the dimension of the call has shown.
pub(super) fn record(visit: &Visit, policy: &ActivePolicy, behind: &Background) -> Markup {
    html! {
        h3 { "Track record" }
        @match (&behind.trust, &behind.decision) {
            (Ok(now), decision) => (standing(visit, now, decision.as_ref().ok(), policy)),
            (Err(reason), _) => (missing("The track record is not known", reason)),
        }
    }
}

fn standing(
    visit: &Visit,
    now: &TrustRecordAnswer,
    decision: Option<&DecisionAnswer>,
    policy: &ActivePolicy,
) -> Markup {
    let floor = decision.filter(|decision| decision.reason_code == SCORE_TOO_LOW);
    let floor = floor.and_then(|decision| policy.floor_of(decision)).or(now.record.trust.threshold.clone());
    let is_about_trust =
        decision.is_some_and(|decision| TRUST_REASONS.contains(&decision.reason_code.as_str()));
    let trust = &now.record.trust;
    let dimension = &now.record.dimension;
    let address = dimension_address(visit, dimension);
    let is_open = now.breaker.state != "closed";
    html! {
        p.score {
            "Score " strong { (text(&trust.score)) }
            @if let Some(floor) = &floor { " of " (text(floor)) @if is_about_trust { ", which is needed" } }
            " · " a href=(address) { (code_name(&dimension.tool)) (on_context(&dimension.context)) }
        }
        @if let (Some(threshold), Ok(score)) = (&floor, trust.score.parse::<f64>()) {
            meter min="0" max="1" value=(score) high=(text(threshold)) title="Score" { (text(&trust.score)) }
        }
        p.counts {
            (trust.approvals) " went well · " (trust.failures) " failed · " (trust.rejections) " rejected · streak " (trust.streak)
        }
        p { "Breaker " (verdict_badge(&now.breaker.state))
            @if is_open { @if let (Some(bad), Some(of)) = (now.breaker.bad, now.breaker.outcomes) { " " (bad) " of the last " (of) " failed" } }
            @if let Some(last) = &trust.last_updated { " · last outcome " (from_now(&visit.zone, last)) } }
        @if let Some(decision) = decision { @if decision.trust.score != trust.score {
            p.note { "It was " (text(&decision.trust.score)) " when the call was decided." }
        } }
    }
}

/// Returns the calls that came just before.
pub(super) fn just_before(visit: &Visit, approval: &ApprovalAnswer, behind: &Background) -> Markup {
    let agent = approval.agent.as_deref();
    html! {
        h3 { "Just before" }
        @match &behind.before {
            Ok(calls) if calls.is_empty() => p.empty { (nothing_before(agent.is_some(), behind.session.is_some())) },
            Ok(calls) => ul.before { @for call in calls { (earlier_call(visit, agent, call)) } },
            Err(reason) => (missing("The calls before are not known", reason)),
        }
    }
}

/// Returns the words for a call before which there is none, by what is known of it.
const fn nothing_before(has_agent: bool, has_session: bool) -> &'static str {
    match (has_agent, has_session) {
        (true, true) => "No call of this agent in this session is recorded before it.",
        (true, false) => "No call of this agent is recorded before it.",
        (false, true) => "No call of this session is recorded before it.",
        (false, false) => {
            "Neither its agent nor its session is recorded, so it is not known what came before."
        }
    }
}

/// Returns a call in a line. One of another agent than this one says so.
fn earlier_call(visit: &Visit, agent: Option<&str>, call: &CallAnswer) -> Markup {
    let context = call.decision.as_ref().and_then(|decision| decision.context.as_deref());
    html! {
        li {
            (verdict_badge(&call.state)) " "
            a href=(visit.page(&["calls", &call.call])) { (code_name(&call.tool)) }
            @if let Some(context) = context { (on_context(context)) }
            (of_another(agent, call))
            " " span.quiet-text { (from_now(&visit.zone, &call.recorded)) }
        }
    }
}

/// Returns whose call it is, where it is not known to be of this agent.
fn of_another(agent: Option<&str>, call: &CallAnswer) -> Markup {
    let by = if agent.is_some() { "by another agent, " } else { "by agent " };
    html! { @match (call.agent.as_deref(), &call.actor) {
        (Some(of), _) if agent == Some(of) => {},
        (Some(of), _) => { " " strong { (by) (name(of)) } },
        (None, Some(actor)) => { " " strong { "of no named agent, recorded by " (name(actor)) } },
        (None, None) => { " " strong { "of no named agent" } },
    } }
}

pub(super) fn missing(what: &str, reason: &str) -> Markup {
    html! { p.note { (what) ": " (sentence(reason)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_before_says_whose_it_is_unless_it_is_of_the_same_agent() {
        let call = |more: &str| -> CallAnswer {
            let json = format!(
                r#"{{"position":"1","time":"t","recorded":"t","call":"c0","tool":"Read","asked":1,"imported":false,"state":"ok","late":false{more}}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        let words = |agent, more| of_another(agent, &call(more)).into_string();
        let other = r#","agent":"</li>calm""#;
        assert_eq!(words(Some("coder"), r#","agent":"coder""#), "");
        let boxed = "<bdi><code class=\"name\">&lt;/li&gt;calm</code></bdi>";
        assert_eq!(words(Some("coder"), other), format!(" <strong>by another agent, {boxed}</strong>"));
        assert_eq!(words(None, other), format!(" <strong>by agent {boxed}</strong>"));
        let unnamed = words(Some("coder"), r#","actor":"agent:1""#);
        assert!(
            unnamed.contains("of no named agent, recorded by ") && unnamed.contains("agent:1"),
            "{unnamed}"
        );
        assert!(words(None, "").contains("of no named agent"));
    }

    #[test]
    fn a_reason_says_nothing_of_what_the_agent_has_to_do() {
        let reason = "It takes 4 more good outcomes. Approval a1 waits for a person; ask again with it.";
        assert_eq!(for_people(reason, "a1"), "It takes 4 more good outcomes.");
        assert_eq!(for_people(reason, "a2"), reason);
    }
}
