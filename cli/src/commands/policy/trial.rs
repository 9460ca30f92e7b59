//! The result of trying a policy on recorded calls, for people.

use bitacora_api::{ChangedCall, ChangedVerdict, StepsAnswer, WhatIfAnswer};

use crate::commands::policy::differences::members;
use crate::rows::{Row, RowTable};
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells};

/// Writes the result in words.
pub(super) fn write(tried: &WhatIfAnswer, output: &mut Output) -> Result<(), OutputError> {
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
    FieldLines::new()
        .maybe("version", tried.version.as_ref())
        .with("digest", &tried.digest)
        .maybe("back to", oldest)
        .maybe("assumed", some(uncertain, "calls of which something is not known: the strictest is assumed"))
        .maybe("left out", some(unjudged, "calls that cannot be judged again"))
        .write(output)?;
    for warning in &tried.warnings {
        output.line(printable(&format!("warning: {}", members(warning))))?;
    }
    for table in [TextTable::of(&tried.verdicts), TextTable::of(&tried.examples)] {
        if !table.is_empty() {
            output.line("")?;
            table.write("", output)?;
        }
    }
    Ok(())
}

impl Row for ChangedVerdict {
    const HEADINGS: &'static [&'static str] = &["calls", "was", "would be"];

    fn cells(&self) -> Vec<Cell> {
        cells![self.calls, &self.before, &self.after]
    }
}

impl Row for ChangedCall {
    const HEADINGS: &'static [&'static str] = &["position", "call", "tool", "was", "would be"];

    fn cells(&self) -> Vec<Cell> {
        let assumed = if self.certain { "" } else { ", assumed" };
        let would_be = format!("{}{assumed}", steps(&self.after));
        cells![Cell::id(&self.position), Cell::id(&self.call), &self.tool, steps(&self.before), would_be]
    }
}

/// Formats a verdict: `deny policy-deny by secrets`.
fn steps(steps: &StepsAnswer) -> String {
    let rule = steps.rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    format!("{} {}{rule}", steps.verdict, steps.reason_code)
}
