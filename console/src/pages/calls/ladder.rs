//! The ladder of a decision: each step, what it asks, what it said.

use bitacora_api::{DecisionAnswer, LadderStepAnswer};
use maud::{Markup, html};

use crate::components::{text, verdict_badge};

/// Returns what a step asks.
fn question(step: &str) -> &'static str {
    match step {
        "panic" => "Is everything, or this agent, stopped?",
        "clock" => "Can the ledger's clock be trusted?",
        "registry" => "Is the tool registered?",
        "role" => "May this caller use it?",
        "arguments" => "Do the arguments fit its schema and reach only its destinations?",
        "idempotency" => "Was the same call made before?",
        "rate" => "Are there too many calls?",
        "budget" => "Is a budget spent?",
        "loop" => "Does the run or session go round in circles?",
        "breaker" => "Is the circuit breaker open?",
        "policy" => "What do the rules of the policy say?",
        "trust" => "Is there enough trust in this tool, here?",
        "obligations" => "Does the tool's registration ask for a review?",
        _ => "",
    }
}

/// Returns the place of the step that gave the verdict: the first of the strictest.
fn deciding(ladder: &[LadderStepAnswer]) -> Option<usize> {
    let rank =
        |step: &LadderStepAnswer| ["allow", "review", "deny"].iter().position(|word| *word == step.verdict);
    let strictest = ladder.iter().map(rank).max()?;
    ladder.iter().position(|step| rank(step) == strictest).filter(|_| strictest > Some(0))
}

/// Returns every step of a decision. The one that gave the verdict is marked.
pub(super) fn ladder(decision: &DecisionAnswer) -> Markup {
    let steps = decision.ladder.as_deref().unwrap_or_default();
    let deciding = deciding(steps);
    html! {
        ol.rungs { @for (at, step) in steps.iter().enumerate() {
            li .decides[deciding == Some(at)] data-verdict=(step.verdict) {
                span.step { (text(&step.step)) }
                span.question { (question(&step.step)) }
                span.answer { (verdict_badge(&step.verdict)) @if let Some(code) = &step.code { " " code { (text(code)) } }
                    @if deciding == Some(at) { " " strong { "← decided" } } }
            }
        } }
        @if steps.is_empty() { p.empty { "No steps are recorded of this decision." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(verdicts: &[&str]) -> Vec<LadderStepAnswer> {
        let step = |verdict: &&str| LadderStepAnswer {
            step: "trust".into(),
            verdict: (*verdict).into(),
            code: None,
        };
        verdicts.iter().map(step).collect()
    }

    #[test]
    fn the_first_of_the_strictest_decides() {
        assert_eq!(deciding(&steps(&["allow", "review", "deny", "deny", "review"])), Some(2));
        assert_eq!(deciding(&steps(&["allow", "review", "review"])), Some(1));
        assert_eq!(deciding(&steps(&["allow", "allow"])), None);
        assert_eq!(deciding(&[]), None);
    }
}
