//! Judging again: the rules run over recorded events, compared with the recorded consequences.

use bitacora_formats::{Data, Event, Position};
use bitacora_vocabulary::{ApprovalRequested, CoverageGap, DecisionMade, EventData, Name};

use crate::calls::imported_key;
use crate::calls::outcome::Outcome;
use crate::command::{Command, read};
use crate::reactor::ObservedEvent;
use crate::reactor::derived_event::DerivedEvent;
use crate::reactor::examination::{CallFacts, Examination};
use crate::refusal::ReactorRefusal;
use crate::state::State;
use crate::version::is_known;

/// Disagreements that are kept; more are counted.
pub const MAX_DISAGREEMENTS: usize = 100;

/// Something that the rules derive otherwise than it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// The position of the event whose consequences differ.
    pub cause: Position,
    /// The position of the first consequence that differs, if there is one recorded.
    pub position: Option<Position>,
    /// The recorded consequence: type and data.
    pub recorded: Option<String>,
    /// The derived consequence: type and data, or the reason of a refusal.
    pub again: Option<String>,
}

/// The result of judging again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReevaluationReport {
    /// Decisions that were made again from their recorded facts.
    pub decisions: u64,
    /// Other events whose consequences were derived again.
    pub others: u64,
    /// Events that were recorded while nothing governed.
    pub ungoverned: u64,
    /// Decisions that cannot be made again: their facts are not recorded, or this program does not have their rules.
    pub unchecked_decisions: u64,
    /// Outcomes that cannot be judged again: they are sealed.
    pub sealed_outcomes: u64,
    /// The first decision by rules that this program does not have, and their version.
    pub unknown_rules: Option<(Position, u32)>,
    /// The first disagreements.
    pub disagreements: Vec<Disagreement>,
    /// The number of all disagreements.
    pub disagreeing: u64,
}

/// A log on its way through the rules that it was recorded under. Its state is folded from recorded events, never from newly
/// derived ones, so that one disagreement does not cause others.
#[derive(Debug, Clone, Default)]
pub struct Reevaluation {
    state: State,
    found: ReevaluationReport,
    /// The last event that is judged, apart from consequences; `None` for every event.
    until: Option<Position>,
}

/// The knowledge of the way in which an event was judged.
enum RecordedJudgement {
    Judged(Option<Examination>),
    Ungoverned,
    Unchecked,
    Sealed,
}

impl Reevaluation {
    /// Judges events up to this position, with their consequences. These may stand behind it, and the events in between rest on
    /// them.
    #[must_use]
    pub fn until(position: Position) -> Self {
        Self { until: Some(position), ..Self::default() }
    }

    /// Judges events behind the last one that is folded in this state, up to this position: what was before cannot be judged any more.
    #[must_use]
    pub fn behind(state: State, position: Position) -> Self {
        Self { state, ..Self::until(position) }
    }

    /// Returns `true` if events of this type are judged, or are the consequence of another one. A gap changes no state, but is
    /// derived as well.
    #[must_use]
    pub fn concerns(kind: &str) -> bool {
        State::concerns(kind) || kind == CoverageGap::KIND
    }

    /// Judges the events of a recorded frame, each behind its cause, and folds them. All that concern it have to be there.
    pub fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        let mut is_cause_asked_for = true;
        for recorded in frame {
            let is_before_end = self.until.is_none_or(|until| recorded.position <= until);
            if !recorded.derived {
                is_cause_asked_for = is_before_end;
            }
            let is_asked_for = is_before_end || (recorded.derived && is_cause_asked_for);
            if !is_asked_for {
                continue;
            }
            match Command::of(recorded.event) {
                Ok(Some(act)) => {
                    self.judge(&act, recorded, frame);
                    self.state.apply(&act, recorded);
                }
                Ok(None) => {}
                Err(_) => self.state.pass_over(recorded),
            }
        }
        self.state.keep_all();
    }

    /// Returns the state and the findings.
    #[must_use]
    pub fn end(self) -> (State, ReevaluationReport) {
        (self.state, self.found)
    }

    fn judge(&mut self, act: &Command, recorded: &ObservedEvent<'_>, frame: &[ObservedEvent<'_>]) {
        let effects = consequences(recorded.position, frame);
        let examination = match self.recorded_judgement(act, recorded, &effects) {
            RecordedJudgement::Judged(examination) => examination,
            RecordedJudgement::Ungoverned => return self.found.ungoverned += 1,
            RecordedJudgement::Unchecked => return self.found.unchecked_decisions += 1,
            RecordedJudgement::Sealed => return self.found.sealed_outcomes += 1,
        };
        let count = if matches!(act, Command::Requested) {
            &mut self.found.decisions
        } else {
            &mut self.found.others
        };
        *count += 1;
        let again =
            self.state.effects_of(act, &ObservedEvent { examination: examination.as_ref(), ..*recorded });
        if let Some(disagreement) = disagreement(recorded.position, &effects, again) {
            self.found.disagreeing += 1;
            if self.found.disagreements.len() < MAX_DISAGREEMENTS {
                self.found.disagreements.push(disagreement);
            }
        }
    }

    fn recorded_judgement(
        &mut self,
        act: &Command,
        recorded: &ObservedEvent<'_>,
        effects: &[&ObservedEvent<'_>],
    ) -> RecordedJudgement {
        match act {
            Command::Requested => {
                let decision = effects.iter().find(|event| event.event.kind == DecisionMade::KIND);
                decision.map_or(RecordedJudgement::Ungoverned, |decision| {
                    self.recorded_call(decision, drawn(effects))
                })
            }
            // Its call was never decided, so that nobody would have taken it.
            Command::Ended(Some(outcome))
                if effects.is_empty() && !self.state.expects(recorded.event, outcome) =>
            {
                RecordedJudgement::Ungoverned
            }
            Command::Ended(Some(outcome)) => {
                let outcome = Outcome { drawn_approval: drawn(effects), ..outcome.clone() };
                RecordedJudgement::Judged(Some(Examination::Outcome(Box::new(outcome))))
            }
            Command::ContractChecked(Some(_)) => {
                RecordedJudgement::Judged(Some(Examination::Check(drawn(effects))))
            }
            Command::Ended(None) => RecordedJudgement::Sealed,
            _ => RecordedJudgement::Judged(None),
        }
    }

    fn recorded_call(
        &mut self,
        decision: &ObservedEvent<'_>,
        drawn_approval: Option<Name>,
    ) -> RecordedJudgement {
        let Ok(made) = read::<DecisionMade>(decision.event) else { return RecordedJudgement::Unchecked };
        let version = made.inputs.reactor_version;
        if !is_known(version) {
            self.found.unknown_rules.get_or_insert((decision.position, version));
            return RecordedJudgement::Unchecked;
        }
        let Some(facts) = CallFacts::of(&made) else { return RecordedJudgement::Unchecked };
        RecordedJudgement::Judged(Some(Examination::Call(Box::new(CallFacts { drawn_approval, ..facts }))))
    }
}

impl State {
    /// Returns `true` if the call that ended is known.
    fn expects(&self, event: &Event<'_>, outcome: &Outcome) -> bool {
        if outcome.imported {
            return self.imported_calls.get(&imported_key(&event.stream, &outcome.call)).is_some();
        }
        self.calls.get(&outcome.call).is_some()
    }
}

/// Returns the events that were derived from the one at this position, in order: their ids name their cause.
fn consequences<'f, 'a>(cause: Position, frame: &'f [ObservedEvent<'a>]) -> Vec<&'f ObservedEvent<'a>> {
    let cause = cause.to_string();
    let is_caused = |event: &&ObservedEvent<'_>| {
        event.derived && event.event.id.split_once('.').is_some_and(|(by, _)| by == cause)
    };
    frame.iter().filter(is_caused).collect()
}

/// Returns the id of the approval that an event asked for, from its consequences. The need for one is judged again.
fn drawn(effects: &[&ObservedEvent<'_>]) -> Option<Name> {
    let requested = effects.iter().find(|event| event.event.kind == ApprovalRequested::KIND)?;
    read::<ApprovalRequested>(requested.event).ok().map(|requested| requested.approval)
}

fn disagreement(
    cause: Position,
    recorded: &[&ObservedEvent<'_>],
    again: Result<Vec<DerivedEvent>, ReactorRefusal>,
) -> Option<Disagreement> {
    let again = match again {
        Ok(derived) => derived.into_iter().map(|derived| derived.event).collect::<Vec<_>>(),
        Err(refusal) => {
            let first = recorded.first();
            return Some(Disagreement {
                cause,
                position: first.map(|first| first.position),
                recorded: first.map(|first| shown(first.event)),
                again: Some(format!("refused: {}", refusal.reason)),
            });
        }
    };
    for index in 0..recorded.len().max(again.len()) {
        let (was, is) = (recorded.get(index), again.get(index));
        let same =
            was.zip(is).is_some_and(|(was, is)| was.event.kind == is.kind && was.event.data == is.data);
        if !same {
            return Some(Disagreement {
                cause,
                position: was.map(|was| was.position),
                recorded: was.map(|was| shown(was.event)),
                again: is.map(shown),
            });
        }
    }
    None
}

fn shown(event: &Event<'_>) -> String {
    let data = match &event.data {
        Data::Json(json) => String::from_utf8_lossy(json.as_bytes()),
        Data::None | Data::Binary(_) => "".into(),
    };
    format!("{} {data}", event.kind)
}
