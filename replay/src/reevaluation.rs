//! Decisions repeated from their inputs, and a report of those that differ.

use std::ops::ControlFlow;

use bitacora_formats::{After, Position, printable, shortened};
use bitacora_governance::{Disagreement, ObservedEvent, REACTOR_VERSION, Reevaluation, ReevaluationReport};
use bitacora_ledger::{Fold, Ledger};
use serde_json::{Value, json};

use crate::cursor::ReplayCursor;
use crate::error::ReplayError;

/// The most characters of a recorded or derived event on a line for people.
const SHOWN_EVENT_CHARACTERS: usize = 400;

/// A log in the middle of its reevaluation.
struct ReevaluationRun {
    reevaluation: Reevaluation,
    cursor: ReplayCursor,
}

/// Repeats every decision up to `to`.
///
/// # Errors
/// [`ReplayError::Ledger`].
pub fn reevaluate(
    ledger: &Ledger,
    to: Position,
    cursor: ReplayCursor,
) -> Result<ReevaluationReport, ReplayError> {
    let mut run = ReevaluationRun { reevaluation: Reevaluation::until(to), cursor };
    ledger.fold(After::START, to, &mut run)?;
    Ok(run.reevaluation.end().1)
}

impl Fold for ReevaluationRun {
    fn concerns(&self, kind: &str) -> bool {
        Reevaluation::concerns(kind)
    }

    fn passes_expired(&self) -> bool {
        false
    }

    fn takes_whole_requests(&self) -> bool {
        true
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.reevaluation.fold(frame);
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.cursor.reach(position)
    }
}

/// Returns the findings up to `to` as lines for people.
#[must_use]
pub fn reevaluation_lines(to: Position, found: &ReevaluationReport) -> Vec<String> {
    let mut lines = vec![
        format!("position   {to}"),
        format!("decisions  {} made again, {} cannot be", found.decisions, found.unchecked_decisions),
    ];
    lines.extend(found.unknown_rules.map(|(position, version)| {
        format!(
            "           from position {position} on by version {version} of the rules; this program has {REACTOR_VERSION}"
        )
    }));
    lines.push(format!(
        "others     {} derived again, {} sealed, {} recorded while nothing governed",
        found.others, found.sealed_outcomes, found.ungoverned
    ));
    lines.push(format!("otherwise  {}", found.disagreeing));
    lines.extend(found.disagreements.iter().flat_map(disagreement_lines));
    lines
}

fn disagreement_lines(disagreement: &Disagreement) -> [String; 3] {
    let Disagreement { cause, position, recorded, again } = disagreement;
    let shown = |text: &Option<String>| {
        shortened(&printable(text.as_deref().unwrap_or("nothing")), SHOWN_EVENT_CHARACTERS)
    };
    [
        match position {
            Some(position) => format!("position {position}, caused by {cause}"),
            None => format!("caused by position {cause}"),
        },
        format!("  recorded {}", shown(recorded)),
        format!("  again    {}", shown(again)),
    ]
}

/// Returns the findings up to `to` as JSON.
#[must_use]
pub fn reevaluation_json(to: Position, found: &ReevaluationReport) -> Value {
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
