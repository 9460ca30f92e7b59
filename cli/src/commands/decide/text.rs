//! A decision, formatted for people.

use bitacora_api::{DecisionAnswer, LadderStepAnswer, ObligationsAnswer, TrustAnswer};

use crate::options::dimension::dimension_words;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{TextTable, to_the_second, write_fields};

/// Writes a decision. The verdict is the first word.
pub(super) fn write(decision: &DecisionAnswer, output: &mut Output) -> Result<(), OutputError> {
    output.line(printable(&format!("{}  {}", decision.verdict, decision.reason_code)))?;
    output.line(printable(&decision.reason))?;
    let would_be =
        decision.would_be.as_ref().map(|verdict| format!("only observed; enforced it would be {verdict}"));
    let approval = decision.approval.as_ref().map(|approval| match &approval.expires {
        Some(expires) => format!("{}, waits until {}", approval.id, to_the_second(expires)),
        None => approval.id.clone(),
    });
    let begins = decision.expires.as_deref().map(|time| format!("before {}", to_the_second(time)));
    let retry_after = decision.retry_after_ms.map(|after| format!("{after} ms"));
    let earlier = decision.earlier_outcome.as_ref().map(|position| format!("at position {position}"));
    let obliged = decision.obligations.as_ref().map(obligations);
    let fields = [
        ("mode", would_be.as_deref()),
        ("rule", decision.rule.as_deref()),
        ("grant", decision.grant.as_deref()),
        ("approval", approval.as_deref()),
        ("begins", begins.as_deref()),
        ("obliged", obliged.as_deref()),
        ("outcome", earlier.as_deref()),
        ("try after", retry_after.as_deref()),
        ("position", Some(&decision.position)),
    ];
    write_fields(&fields, output)?;
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
    let dimension = decision.dimension.as_ref().map(dimension_words);
    let (score, counted) = (score_words(&decision.trust), counted_words(&decision.trust));
    let policy = decision.policy_version.as_ref().map(|version| format!("version {version}"));
    let fields = [
        ("trust in", dimension.as_deref()),
        ("score", Some(score.as_str())),
        ("counted", Some(counted.as_str())),
        ("breaker", Some(&decision.breaker)),
        ("policy", policy.as_deref()),
        ("registry", decision.registry_revision.as_deref()),
        ("action", decision.action_digest.as_deref()),
    ];
    write_fields(&fields, output)
}

fn strictness(verdict: &str) -> u8 {
    match verdict {
        "allow" => 0,
        "review" => 1,
        _ => 2,
    }
}

fn score_words(trust: &TrustAnswer) -> String {
    format!("{}, {} ({})", trust.score, trust.standing, trust.standing_reason)
}

/// Lists the inputs of trust.
fn counted_words(trust: &TrustAnswer) -> String {
    let updated = trust.last_updated.as_deref().map_or("never".to_owned(), to_the_second);
    format!(
        "{} approvals, {} rejections, {} failures, {} of them among the last 50, streak {}, last {updated}",
        trust.approvals, trust.rejections, trust.failures, trust.recent_failures, trust.streak
    )
}
