//! Decisions repeated from their inputs, and a report of those that differ.

use std::ops::ControlFlow;

use bitacora_formats::{After, Position};
use bitacora_governance::{Disagreement, ObservedEvent, REACTOR_VERSION, Reevaluation, ReevaluationReport};
use bitacora_ledger::{Fold, Ledger};
use serde_json::{Value, json};

use super::ReplayFailure;
use super::fold::FoldStop;
use crate::exit::Exit;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::progress::EventBar;

/// The most characters of a recorded or derived event on a line for people.
const SHOWN_EVENT_CHARACTERS: usize = 400;

/// A log in the middle of being judged again.
struct JudgingAgain {
    judging: Reevaluation,
    reached: u64,
    stop: FoldStop,
    bar: EventBar,
}

/// Repeats every decision up to `to`.
pub(super) fn judge(
    ledger: &Ledger,
    to: Position,
    stop: FoldStop,
) -> Result<ReevaluationReport, ReplayFailure> {
    let bar = EventBar::new("judging", to.get());
    let mut again = JudgingAgain { judging: Reevaluation::until(to), reached: 0, stop, bar };
    ledger.fold(After::START, to, &mut again)?;
    Ok(again.judging.end().1)
}

impl Fold for JudgingAgain {
    fn concerns(&self, kind: &str) -> bool {
        Reevaluation::concerns(kind)
    }

    fn takes_whole_requests(&self) -> bool {
        true
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.judging.fold(frame);
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.bar.advance(position.get().saturating_sub(self.reached));
        self.reached = position.get();
        self.stop.flow()
    }
}

/// Returns the exit code. Decisions that could not be checked, and a log without decisions, never count as agreement.
pub(super) fn exit(found: &ReevaluationReport) -> Exit {
    if found.disagreeing > 0 {
        Exit::Failed
    } else if found.unchecked_decisions > 0 || found.decisions == 0 {
        Exit::Incomplete
    } else {
        Exit::Done
    }
}

/// Writes the findings.
pub(super) fn show(
    to: Position,
    found: &ReevaluationReport,
    as_json: bool,
    output: &mut Output,
) -> Result<(), OutputError> {
    if as_json {
        return output.json(&to_json(to, found));
    }
    output.line(format_args!("position   {to}"))?;
    output.line(format_args!(
        "decisions  {} made again, {} cannot be",
        found.decisions, found.unchecked_decisions
    ))?;
    if let Some((position, version)) = found.unknown_rules {
        output.line(format_args!(
            "           from position {position} on by version {version} of the rules; this program has {REACTOR_VERSION}"
        ))?;
    }
    output.line(format_args!(
        "others     {} derived again, {} sealed, {} recorded while nothing governed",
        found.others, found.sealed_outcomes, found.ungoverned
    ))?;
    output.line(format_args!("otherwise  {}", found.disagreeing))?;
    for disagreement in &found.disagreements {
        lines(disagreement, output)?;
    }
    Ok(())
}

fn lines(disagreement: &Disagreement, output: &mut Output) -> Result<(), OutputError> {
    let Disagreement { cause, position, recorded, again } = disagreement;
    match position {
        Some(position) => output.line(format_args!("position {position}, caused by {cause}"))?,
        None => output.line(format_args!("caused by position {cause}"))?,
    }
    output.line(format_args!("  recorded {}", shortened(recorded.as_deref())))?;
    output.line(format_args!("  again    {}", shortened(again.as_deref())))
}

fn shortened(text: Option<&str>) -> String {
    let text = printable(text.unwrap_or("nothing"));
    match text.char_indices().nth(SHOWN_EVENT_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn to_json(to: Position, found: &ReevaluationReport) -> Value {
    let one = |disagreement: &Disagreement| {
        json!({
            "cause": disagreement.cause.to_string(),
            "position": disagreement.position.map(|position| position.to_string()),
            "recorded": disagreement.recorded,
            "again": disagreement.again,
        })
    };
    json!({
        "position": to.to_string(),
        "decisions": found.decisions,
        "uncheckedDecisions": found.unchecked_decisions,
        "unknownRules": found.unknown_rules.map(|(position, version)| {
            json!({ "position": position.to_string(), "version": version })
        }),
        "others": found.others,
        "sealedOutcomes": found.sealed_outcomes,
        "ungoverned": found.ungoverned,
        "otherwise": found.disagreeing,
        "disagreements": found.disagreements.iter().map(one).collect::<Vec<_>>(),
    })
}
