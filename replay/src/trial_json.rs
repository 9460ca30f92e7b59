//! The result of trying a policy, as JSON.

use bitacora_governance::StepsVerdict;
use serde_json::{Value, json};

use crate::trial::{Trial, TrialContext, TrialExample, TrialGroups, TrialRow};
use crate::trial_text::reason_code;
use crate::watched_calls::RejectedCalls;

/// Returns the result of a trial as JSON.
#[must_use]
pub fn trial_json(context: &TrialContext<'_>, trial: &Trial) -> Value {
    let of_lines = |lines: &TrialGroups| {
        let line = |(name, line): (&String, &TrialRow)| {
            json!({
                "name": name,
                "calls": line.calls,
                "stricter": line.stricter,
                "milder": line.milder,
                "examples": line.examples.iter().map(u64::to_string).collect::<Vec<_>>(),
            })
        };
        lines.0.iter().map(line).collect::<Vec<_>>()
    };
    let changes = trial.run.changes.iter().map(|change| {
        json!({
            "before": change.earlier.as_str(),
            "after": change.later.as_str(),
            "calls": change.calls,
            "uncertain": change.uncertain,
            "examples": change.examples.iter().map(u64::to_string).collect::<Vec<_>>(),
        })
    });
    let outcomes = &trial.outcomes;
    json!({
        "policy": context.name,
        "digest": context.policy.digest().to_string(),
        "warnings": context.policy.warnings(),
        "after": context.after.to_string(),
        "to": context.to.to_string(),
        "calls": trial.calls(),
        "changed": trial.changed(),
        "uncertain": trial.uncertain(),
        "unjudged": trial.unjudged,
        "expired": {"decisions": trial.expired_decisions, "others": trial.expired_others},
        "ends": {
            "stricter": {"ok": outcomes.stricter_ok, "failed": outcomes.stricter_failed},
            "milder": {"ok": outcomes.milder_ok, "failed": outcomes.milder_failed, "blocked": outcomes.milder_blocked},
        },
        "rejected": {
            "deny": rejected_json(&trial.rejections.deny),
            "review": rejected_json(&trial.rejections.review),
            "allow": rejected_json(&trial.rejections.allow),
        },
        "verdicts": changes.collect::<Vec<_>>(),
        "tools": of_lines(&trial.by_tool),
        "agents": of_lines(&trial.by_agent),
        "days": of_lines(&trial.by_day),
        "examples": trial.examples.iter().map(example_json).collect::<Vec<_>>(),
    })
}

fn rejected_json(rejections: &RejectedCalls) -> Value {
    let examples: Vec<_> = rejections.examples.iter().map(u64::to_string).collect();
    json!({"calls": rejections.calls, "examples": examples})
}

fn example_json(example: &TrialExample) -> Value {
    let steps = |steps: &StepsVerdict| json!({"verdict": steps.verdict.as_str(), "reasonCode": reason_code(steps), "rule": steps.rule});
    json!({
        "position": example.position.to_string(),
        "call": example.call,
        "tool": example.found.tool,
        "agent": example.agent,
        "before": steps(&example.found.recorded),
        "after": steps(&example.found.otherwise),
        "certain": example.found.certain,
    })
}
