//! The result of trying a policy, for people and as JSON.

use bitacora_formats::Position;
use bitacora_governance::{Policy, StepsVerdict};
use serde_json::{Value, json};

use super::ends::RejectedCalls;
use super::what_if::{Example, Trial, TrialGroups, TrialRow};
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{TextTable, write_fields};

/// The most tools and agents that lines for people name: those with the most changes.
const SHOWN_LINES: usize = 12;

/// The tried policy, and the calls that it was tried on.
pub(super) struct TrialContext<'a> {
    /// The policy's name on the command line.
    pub(super) name: &'a str,
    pub(super) policy: &'a Policy,
    /// The position that the tried calls were decided after; the next field is their end.
    pub(super) after: u64,
    pub(super) to: Position,
}

/// Writes it as lines for people.
pub(super) fn lines(
    context: &TrialContext<'_>,
    trial: &Trial,
    output: &mut Output,
) -> Result<(), OutputError> {
    let (calls, changed) = (trial.calls(), trial.changed());
    output.line(match (calls, changed) {
        (0, _) => "no call is recorded that it could be tried on".to_owned(),
        (_, 0) => format!("nothing would be said otherwise of {calls} calls"),
        _ => format!("of {calls} calls {changed} would be judged otherwise"),
    })?;
    let some = |count: u64, words: &str| (count > 0).then(|| format!("{count} {words}"));
    let ends = &trial.ends;
    let stricter = (ends.stricter_ok + ends.stricter_failed > 0)
        .then(|| format!("{} ended well, {} failed", ends.stricter_ok, ends.stricter_failed));
    let milder = (ends.milder_ok + ends.milder_failed + ends.milder_blocked > 0).then(|| {
        format!(
            "{} ended well, {} failed, {} were not let run",
            ends.milder_ok, ends.milder_failed, ends.milder_blocked
        )
    });
    let rejections = &trial.rejections;
    let agreed = (rejections.calls() > 0).then(|| {
        format!(
            "{} by people: this policy would deny {}, review {}, allow {}",
            rejections.calls(),
            rejections.deny.calls,
            rejections.review.calls,
            rejections.allow.calls
        )
    });
    write_fields(
        &[
            ("policy", Some(context.name)),
            ("digest", Some(&context.policy.digest().to_string())),
            ("decided", Some(&format!("past position {}, up to {}", context.after, context.to))),
            ("stricter", stricter.as_deref()),
            ("milder", milder.as_deref()),
            ("rejected", agreed.as_deref()),
            (
                "assumed",
                some(trial.uncertain(), "calls of which something is not known: the strictest is assumed")
                    .as_deref(),
            ),
            ("left out", some(trial.unjudged, "calls that cannot be judged again").as_deref()),
        ],
        output,
    )?;
    for warning in context.policy.warnings() {
        output.line(printable(&format!("warning: {}", json!(warning))))?;
    }
    let mut verdicts = TextTable::new(&["calls", "was", "would be"]);
    for change in &trial.run.changes {
        verdicts.row(&[&change.calls.to_string(), change.earlier.as_str(), change.later.as_str()]);
    }
    output.line("")?;
    verdicts.write("", output)?;
    for (title, lines) in [("tool", &trial.by_tool), ("agent", &trial.by_agent)] {
        table(title, lines, output)?;
    }
    if trial.examples.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let mut examples = TextTable::new(&["position", "call", "tool", "agent", "was", "would be"]);
    for example in &trial.examples {
        let would_be = in_words(&example.found.otherwise);
        examples.row(&[
            &example.position.to_string(),
            &example.call,
            &example.found.tool,
            example.agent.as_deref().unwrap_or("-"),
            &in_words(&example.found.recorded),
            &if example.found.certain { would_be } else { format!("{would_be}, assumed") },
        ]);
    }
    examples.write("", output)
}

/// Returns the lines with changes, most changes first.
pub(super) fn changed_most(lines: &TrialGroups) -> Vec<(&str, &TrialRow)> {
    let mut changed: Vec<(&str, &TrialRow)> = lines
        .0
        .iter()
        .filter(|(_, line)| line.changed() > 0)
        .map(|(name, line)| (name.as_str(), line))
        .collect();
    changed.sort_by_key(|(_, line)| std::cmp::Reverse(line.changed()));
    changed
}

fn table(title: &str, lines: &TrialGroups, output: &mut Output) -> Result<(), OutputError> {
    let changed = changed_most(lines);
    if changed.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let mut table = TextTable::new(&[title, "calls", "stricter", "milder", "positions"]);
    for (name, line) in changed.iter().take(SHOWN_LINES) {
        let positions: Vec<String> = line.examples.iter().map(u64::to_string).collect();
        let TrialRow { calls, stricter, milder, .. } = line;
        table.row(&[
            name,
            &calls.to_string(),
            &stricter.to_string(),
            &milder.to_string(),
            &positions.join(" "),
        ]);
    }
    table.write("", output)?;
    match changed.len().checked_sub(SHOWN_LINES) {
        Some(hidden) if hidden > 0 => output.line(format_args!("and {hidden} more; --json names all")),
        _ => Ok(()),
    }
}

/// Formats a verdict: `deny policy-deny by secrets`.
pub(super) fn in_words(steps: &StepsVerdict) -> String {
    let rule = steps.rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    format!("{} {}{rule}", steps.verdict.as_str(), code(steps))
}

fn code(steps: &StepsVerdict) -> String {
    json!(steps.code).as_str().unwrap_or_default().to_owned()
}

/// Returns all of it as JSON.
pub(super) fn to_json(context: &TrialContext<'_>, trial: &Trial) -> Value {
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
    let ends = &trial.ends;
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
        "ends": {
            "stricter": {"ok": ends.stricter_ok, "failed": ends.stricter_failed},
            "milder": {"ok": ends.milder_ok, "failed": ends.milder_failed, "blocked": ends.milder_blocked},
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

fn example_json(example: &Example) -> Value {
    let steps = |steps: &StepsVerdict| json!({"verdict": steps.verdict.as_str(), "reasonCode": code(steps), "rule": steps.rule});
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
