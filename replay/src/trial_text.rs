//! The result of trying a policy, in words and tables for people.

use bitacora_formats::printable;
use bitacora_governance::StepsVerdict;
use serde_json::json;

use crate::trial::{Trial, TrialContext, TrialExample, TrialGroups, TrialRow};

/// The most tools and agents that a table for people names: those with the most changes.
const SHOWN_LINES: usize = 12;

/// The result of a trial, for people.
pub struct TrialText {
    /// The result in one line.
    pub headline: String,
    /// Names with their values; those without a value say nothing.
    pub fields: Vec<(&'static str, Option<String>)>,
    /// Warnings about the policy, one a line.
    pub warnings: Vec<String>,
    /// The changed verdicts, the tools, the agents and the newest calls.
    pub tables: Vec<TrialTable>,
}

/// A table about a trial.
pub struct TrialTable {
    /// The headings of the columns.
    pub headings: Vec<&'static str>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
    /// The number of further rows.
    pub hidden: usize,
}

impl TrialText {
    /// Describes the result of a trial.
    #[must_use]
    pub fn new(context: &TrialContext<'_>, trial: &Trial) -> Self {
        let (calls, changed) = (trial.calls(), trial.changed());
        let groups = [("tool", &trial.by_tool), ("agent", &trial.by_agent)];
        let tables = std::iter::once(verdicts(trial))
            .chain(groups.into_iter().filter_map(|(title, groups)| changes(title, groups)))
            .chain((!trial.examples.is_empty()).then(|| examples(&trial.examples)));
        let warnings = context.policy.warnings();
        Self {
            headline: match (calls, changed) {
                (0, _) => "no call is recorded that it could be tried on".to_owned(),
                (_, 0) => format!("nothing would be said otherwise of {calls} calls"),
                _ => format!("of {calls} calls {changed} would be judged otherwise"),
            },
            fields: fields(context, trial),
            warnings: warnings
                .iter()
                .map(|warning| printable(&format!("warning: {}", json!(warning))))
                .collect(),
            tables: tables.collect(),
        }
    }
}

fn fields(context: &TrialContext<'_>, trial: &Trial) -> Vec<(&'static str, Option<String>)> {
    let some = |count: u64, words: &str| (count > 0).then(|| format!("{count} {words}"));
    let (outcomes, rejections) = (&trial.outcomes, &trial.rejections);
    let stricter = (outcomes.stricter_ok + outcomes.stricter_failed > 0)
        .then(|| format!("{} ended well, {} failed", outcomes.stricter_ok, outcomes.stricter_failed));
    let milder = (outcomes.milder_ok + outcomes.milder_failed + outcomes.milder_blocked > 0).then(|| {
        format!(
            "{} ended well, {} failed, {} were not let run",
            outcomes.milder_ok, outcomes.milder_failed, outcomes.milder_blocked
        )
    });
    let agreed = (rejections.calls() > 0).then(|| {
        format!(
            "{} by people: this policy would deny {}, review {}, allow {}",
            rejections.calls(),
            rejections.deny.calls,
            rejections.review.calls,
            rejections.allow.calls
        )
    });
    let (decisions, others) = (trial.expired_decisions, trial.expired_others);
    let expired = (decisions + others > 0).then(|| {
        format!("the content of {decisions} decisions, and of {others} requests, outcomes and answers")
    });
    let assumed = "calls of which something is not known: the strictest is assumed";
    vec![
        ("policy", Some(context.name.to_owned())),
        ("digest", Some(context.policy.digest().to_string())),
        ("decided", Some(format!("past position {}, up to {}", context.after, context.to))),
        ("stricter", stricter),
        ("milder", milder),
        ("rejected", agreed),
        ("assumed", some(trial.uncertain(), assumed)),
        ("left out", some(trial.unjudged, "calls that cannot be judged again")),
        ("expired", expired),
    ]
}

fn verdicts(trial: &Trial) -> TrialTable {
    let rows = trial.run.changes.iter().map(|change| {
        vec![change.calls.to_string(), change.earlier.as_str().to_owned(), change.later.as_str().to_owned()]
    });
    TrialTable { headings: vec!["calls", "was", "would be"], rows: rows.collect(), hidden: 0 }
}

/// Returns the groups with the most changes; `None` if none has any.
fn changes(title: &'static str, groups: &TrialGroups) -> Option<TrialTable> {
    let changed = groups.changed_most();
    let rows = changed.iter().take(SHOWN_LINES).map(|(name, row)| {
        let TrialRow { calls, stricter, milder, examples } = row;
        let positions: Vec<String> = examples.iter().map(u64::to_string).collect();
        let counts = [calls, stricter, milder].map(u64::to_string);
        std::iter::once((*name).to_owned()).chain(counts).chain([positions.join(" ")]).collect()
    });
    (!changed.is_empty()).then(|| TrialTable {
        headings: vec![title, "calls", "stricter", "milder", "positions"],
        rows: rows.collect(),
        hidden: changed.len().saturating_sub(SHOWN_LINES),
    })
}

fn examples(examples: &[TrialExample]) -> TrialTable {
    let rows = examples.iter().map(|example| {
        let would_be = in_words(&example.found.otherwise);
        vec![
            example.position.to_string(),
            example.call.clone(),
            example.found.tool.to_string(),
            example.agent.as_deref().unwrap_or("-").to_owned(),
            in_words(&example.found.recorded),
            if example.found.certain { would_be } else { format!("{would_be}, assumed") },
        ]
    });
    TrialTable {
        headings: vec!["position", "call", "tool", "agent", "was", "would be"],
        rows: rows.collect(),
        hidden: 0,
    }
}

/// Formats a verdict: `deny policy-deny by secrets`.
pub(crate) fn in_words(steps: &StepsVerdict) -> String {
    let rule = steps.rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    format!("{} {}{rule}", steps.verdict.as_str(), reason_code(steps))
}

/// Returns the code of the reason, as decisions have it.
pub(crate) fn reason_code(steps: &StepsVerdict) -> String {
    json!(steps.code).as_str().unwrap_or_default().to_owned()
}
