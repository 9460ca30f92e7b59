//! A decision, formatted for people.

use bitacora_api::{DecisionAnswer, LadderStepAnswer, ObligationsAnswer, TrustAnswer};

use crate::commands::trust::score_words;
use crate::options::dimension::dimension_words;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{FieldLines, TextTable, to_the_second};

/// Writes a decision. The verdict is the first word.
pub(super) fn write(decision: &DecisionAnswer, output: &mut Output) -> Result<(), OutputError> {
    output.line(printable(&format!("{}  {}", decision.verdict, decision.reason_code)))?;
    output.line(printable(&decision.reason))?;
    let approval = decision.approval.as_ref().map(|approval| match &approval.expires {
        Some(expires) => format!("{}, pending until {}", approval.id, to_the_second(expires)),
        None => approval.id.clone(),
    });
    let observed = |verdict| format!("only observed; enforced it would be {verdict}");
    FieldLines::new()
        .maybe("mode", decision.would_be.as_ref().map(observed))
        .maybe("rule", decision.rule.as_ref())
        .maybe("grant", decision.grant.as_ref())
        .maybe("approval", approval)
        .maybe("begins", decision.expires.as_deref().map(|time| format!("before {}", to_the_second(time))))
        .maybe("obliged", decision.obligations.as_ref().map(obligations))
        .maybe("outcome", decision.earlier_outcome.as_ref().map(|position| format!("at position {position}")))
        .maybe("try after", decision.retry_after_ms.map(|after| format!("{after} ms")))
        .with("position", &decision.position)
        .write(output)?;
    match &decision.ladder {
        Some(ladder) => explanation(decision, ladder, output),
        None => Ok(()),
    }
}

fn obligations(obligations: &ObligationsAnswer) -> String {
    let timeout = obligations.timeout_ms.map(|timeout| format!("to end within {timeout} ms"));
    let retry = obligations.retry.as_ref().map(|retry| match (retry.max, retry.backoff_ms) {
        (0, _) => "no retry".to_owned(),
        (max, Some(backoff)) => format!("at most {max} retries, {backoff} ms apart"),
        (max, None) => format!("at most {max} retries"),
    });
    let excludes = obligations.exclude_secret_files.then(|| "without the policy's secret files".to_owned());
    timeout.into_iter().chain(retry).chain(excludes).collect::<Vec<_>>().join(", ")
}

/// Writes every step, the deciding one marked, and the inputs of trust.
fn explanation(
    decision: &DecisionAnswer,
    ladder: &[LadderStepAnswer],
    output: &mut Output,
) -> Result<(), OutputError> {
    let strictest = ladder.iter().map(|step| strictness(&step.verdict)).max().unwrap_or_default();
    let first = ladder.iter().position(|step| strictness(&step.verdict) == strictest);
    let mut table = TextTable::new(&["", "step", "verdict", "code"]);
    for (index, step) in ladder.iter().enumerate() {
        let mark = if Some(index) == first { ">" } else { "" };
        table.row(&[mark, &step.step, &step.verdict, step.code.as_deref().unwrap_or("-")]);
    }
    output.line("")?;
    table.write("no step was recorded", output)?;
    output.line("")?;
    FieldLines::new()
        .maybe("trust in", decision.dimension.as_ref().map(dimension_words))
        .with("score", standing_words(&decision.trust))
        .with("counted", counted_words(&decision.trust))
        .with("breaker", &decision.breaker)
        .maybe("policy", decision.policy_version.as_ref().map(|version| format!("version {version}")))
        .maybe("registry", decision.registry_revision.as_ref())
        .maybe("action", decision.action_digest.as_ref())
        .write(output)
}

fn strictness(verdict: &str) -> u8 {
    match verdict {
        "allow" => 0,
        "review" => 1,
        _ => 2,
    }
}

fn standing_words(trust: &TrustAnswer) -> String {
    format!("{}, {} ({})", score_words(trust), trust.standing, trust.standing_reason)
}

/// Lists the inputs of trust.
fn counted_words(trust: &TrustAnswer) -> String {
    let updated = trust.last_updated.as_deref().map_or("never".to_owned(), to_the_second);
    format!(
        "{} approvals, {} rejections, {} failures, {} of them among the last 50, streak {}, last {updated}",
        trust.approvals, trust.rejections, trust.failures, trust.recent_failures, trust.streak
    )
}
