//! The result of trying a policy on recorded calls, for people.

use bitacora_api::{StepsAnswer, WhatIfAnswer};

use super::differences::members;
use crate::error::CommandError;
use crate::ledger_access::service::ServiceAnswer;
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{TextTable, write_fields};

/// Writes the answer, as it came or in words.
pub(super) fn write(
    answer: &ServiceAnswer,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    if global.json {
        return Ok(output.json_text(answer.text())?);
    }
    Ok(shown(&answer.read()?, output)?)
}

fn shown(tried: &WhatIfAnswer, output: &mut Output) -> Result<(), OutputError> {
    let WhatIfAnswer { calls, changed, uncertain, unjudged, .. } = tried;
    let sentence = match (calls, changed) {
        (0, _) => "no call is recorded that it could be tried on".to_owned(),
        (calls, 0) => format!("nothing would be said otherwise of the last {calls} calls"),
        (calls, changed) => format!("of the last {calls} calls {changed} would be judged otherwise"),
    };
    output.line(sentence)?;
    let some = |count: &u64, words: &str| (*count > 0).then(|| format!("{count} {words}"));
    let back = if tried.complete { "the first call" } else { "a limit; there are older ones" };
    let oldest = tried.oldest.as_ref().map(|oldest| format!("position {oldest}, {back}"));
    write_fields(
        &[
            ("version", tried.version.as_deref()),
            ("digest", Some(&tried.digest)),
            ("back to", oldest.as_deref()),
            (
                "assumed",
                some(uncertain, "calls of which something is not known: the strictest is assumed").as_deref(),
            ),
            ("left out", some(unjudged, "calls that cannot be judged again").as_deref()),
        ],
        output,
    )?;
    for warning in &tried.warnings {
        output.line(printable(&format!("warning: {}", members(warning))))?;
    }
    let mut verdicts = TextTable::new(&["calls", "was", "would be"]);
    for verdict in &tried.verdicts {
        verdicts.row(&[&verdict.calls.to_string(), &verdict.before, &verdict.after]);
    }
    if !tried.verdicts.is_empty() {
        output.line("")?;
        verdicts.write("", output)?;
    }
    if tried.examples.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let mut examples = TextTable::new(&["position", "call", "tool", "was", "would be"]);
    for example in &tried.examples {
        let would_be = steps(&example.after);
        let would_be = if example.certain { would_be } else { format!("{would_be}, assumed") };
        examples.row(&[&example.position, &example.call, &example.tool, &steps(&example.before), &would_be]);
    }
    examples.write("", output)
}

/// Formats a verdict: `deny policy-deny by secrets`.
fn steps(steps: &StepsAnswer) -> String {
    let rule = steps.rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    format!("{} {}{rule}", steps.verdict, steps.reason_code)
}
