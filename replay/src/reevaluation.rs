//! Decisions repeated from their inputs, and a report of those that differ.

use std::ops::ControlFlow;

use bitacora_formats::{After, Position, printable, shortened};
use bitacora_governance::{
    Disagreement, ObservedEvent, REACTOR_VERSION, ReactorState, Reevaluation, ReevaluationReport, State,
};
use bitacora_ledger::{Fold, Ledger, ReadError};
use serde_json::{Value, json};

use crate::cursor::ReplayCursor;
use crate::error::ReplayError;
use crate::expired_content::{ExpiredContent, begin_behind};

/// The most characters of a recorded or derived event on a line for people.
const SHOWN_EVENT_CHARACTERS: usize = 400;

/// A log in the middle of its reevaluation.
struct ReevaluationRun {
    reevaluation: Reevaluation,
    cursor: ReplayCursor,
}

/// The findings of a reevaluation.
pub struct ReevaluationResult {
    /// The last event that was judged.
    pub to: Position,
    /// The findings.
    pub found: ReevaluationReport,
    /// Content that expired before the first event that could be judged.
    pub expired: Option<ExpiredContent>,
}

/// Repeats every decision up to `to`. Where content of events expired, it repeats those behind the first state that is kept behind them.
///
/// # Errors
/// [`ReplayError`], but for policies.
pub fn reevaluate(
    ledger: &Ledger,
    to: Position,
    cursor: ReplayCursor,
) -> Result<ReevaluationResult, ReplayError> {
    let mut run = ReevaluationRun { reevaluation: Reevaluation::until(to), cursor };
    let expired = match ledger.fold(After::START, to, &mut run) {
        Err(ReadError::Expired { .. }) => {
            let (kept, content) = begin_behind(ledger, to, Reevaluation::concerns)?;
            let mut state = State::default();
            state.restore(kept.position, &kept.bytes).map_err(ReplayError::Archived)?;
            run.reevaluation = Reevaluation::behind(state, to);
            run.cursor.skip_to(kept.position.get());
            ledger.fold(After::new(kept.position.get()), to, &mut run)?;
            Some(content)
        }
        folded => folded.map(|()| None)?,
    };
    Ok(ReevaluationResult { to, found: run.reevaluation.end().1, expired })
}

impl Fold for ReevaluationRun {
    fn concerns(&self, kind: &str) -> bool {
        Reevaluation::concerns(kind)
    }

    fn skips_expired_content(&self) -> bool {
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

/// Returns the findings as lines for people.
#[must_use]
pub fn reevaluation_lines(result: &ReevaluationResult) -> Vec<String> {
    let ReevaluationResult { to, found, expired } = result;
    let mut lines = vec![format!("position   {to}")];
    lines.extend(expired.as_ref().map(|expired| format!("begins     {}", expired.line())));
    lines.extend([format!(
        "decisions  {} made again, {} cannot be",
        found.decisions, found.unchecked_decisions
    )]);
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

/// Returns the findings as JSON.
#[must_use]
pub fn reevaluation_json(result: &ReevaluationResult) -> Value {
    let ReevaluationResult { to, found, expired } = result;
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
        "begins": expired.as_ref().map(ExpiredContent::to_json),
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
