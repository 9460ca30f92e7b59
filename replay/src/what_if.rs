//! A trial of another policy on every recorded call.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use bitacora_formats::{After, Data, Position, format_time, parse_time};
use bitacora_governance::{ObservedEvent, Policy, RecordedCall, Registry, WhatIf};
use bitacora_ledger::{Fold, Ledger};
use bitacora_vocabulary::{
    ApprovalResolved, DecisionMade, EventData, ToolBlocked, ToolCompleted, ToolFailed, ToolRequested,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cursor::ReplayCursor;
use crate::error::ReplayError;
use crate::trial::{Trial, TrialExample};
use crate::watched_calls::WatchedCalls;

/// The most calls with another verdict that are shown one by one, the newest ones.
const MAX_EXAMPLES: usize = 50;

/// The members of an event that ends a call.
#[derive(Deserialize)]
struct OutcomeEvent {
    call: String,
    status: Option<String>,
}

/// The members of an event that answers an approval.
#[derive(Deserialize)]
struct ResolutionEvent {
    approval: String,
    resolution: String,
}

/// The word for a person's rejection, of an approval and of an outcome.
const REJECTED: &str = "rejected";

/// A log in the middle of a trial.
struct TrialRun<'a> {
    policy: &'a Policy,
    tools: &'a Registry,
    trial: Trial,
    /// The requests of the current frame, by their positions.
    requests: HashMap<u64, ToolRequested>,
    watched: WatchedCalls,
    newest: VecDeque<TrialExample>,
    cursor: ReplayCursor,
}

/// Tries a policy on the calls that were decided past `after`, up to `to`.
///
/// # Errors
/// [`ReplayError::Ledger`].
pub fn try_policy(
    ledger: &Ledger,
    (after, to): (After, Position),
    policy: &Policy,
    tools: &Registry,
    mut cursor: ReplayCursor,
) -> Result<Trial, ReplayError> {
    cursor.skip_to(after.get());
    let mut run = TrialRun {
        policy,
        tools,
        trial: Trial::default(),
        requests: HashMap::new(),
        watched: WatchedCalls::default(),
        newest: VecDeque::new(),
        cursor,
    };
    ledger.fold(after, to, &mut run)?;
    let TrialRun { mut trial, newest, watched, .. } = run;
    (trial.outcomes, trial.rejections) = (watched.outcomes, watched.rejections);
    trial.examples = newest.into_iter().rev().collect();
    Ok(trial)
}

fn data_of<T: DeserializeOwned>(observed: &ObservedEvent<'_>) -> Option<T> {
    match &observed.event.data {
        Data::Json(json) => serde_json::from_slice(json.as_bytes()).ok(),
        _ => None,
    }
}

/// Returns the event's own day, UTC; without one, the day of its frame.
fn day_of(observed: &ObservedEvent<'_>) -> String {
    let own = observed.event.time.as_deref().and_then(|time| parse_time(time).ok());
    let mut day = format_time(own.unwrap_or(observed.time));
    day.truncate(10);
    day
}

impl TrialRun<'_> {
    fn judge(&mut self, observed: &ObservedEvent<'_>) {
        let Some(decision) = data_of::<DecisionMade>(observed) else {
            self.trial.unjudged += 1;
            return;
        };
        let cause = observed.event.id.split_once('.').and_then(|(cause, _)| cause.parse().ok());
        let request = cause.and_then(|cause: u64| self.requests.get(&cause));
        let call = RecordedCall { decision: &decision, request, time: observed.time };
        let Some(found) = WhatIf::of(self.policy, self.tools, &call) else {
            self.trial.unjudged += 1;
            return;
        };
        let (position, verdicts) =
            (observed.position.get(), (found.recorded.verdict, found.otherwise.verdict));
        let agent = observed.event.agent.as_deref();
        self.trial.run.count(position, verdicts, found.certain);
        self.trial.by_tool.count(&found.tool, position, verdicts);
        self.trial.by_agent.count(agent.unwrap_or("-"), position, verdicts);
        self.trial.by_day.count(&day_of(observed), position, verdicts);
        self.watched.watch(&decision, position, verdicts);
        if verdicts.0 == verdicts.1 {
            return;
        }
        let call = decision.call.to_string();
        if self.newest.len() == MAX_EXAMPLES {
            self.newest.pop_front();
        }
        let agent = agent.map(str::to_owned);
        self.newest.push_back(TrialExample { position: observed.position, call, agent, found });
    }

    fn end(&mut self, observed: &ObservedEvent<'_>) {
        let kind = &*observed.event.kind;
        // Only of what did not run it matters who said so.
        let known = observed.event.call.as_deref().filter(|_| kind != ToolBlocked::KIND);
        if let Some(call) = known {
            return self.watched.end(call, kind, false);
        }
        let told = data_of::<OutcomeEvent>(observed);
        let in_data = told.as_ref().map(|told| told.call.as_str());
        let Some(call) = observed.event.call.as_deref().or(in_data) else { return };
        let is_rejection = told.as_ref().is_some_and(|told| told.status.as_deref() == Some(REJECTED));
        self.watched.end(call, kind, is_rejection && kind == ToolBlocked::KIND);
    }

    fn answer(&mut self, observed: &ObservedEvent<'_>) {
        if let Some(told) = data_of::<ResolutionEvent>(observed) {
            self.watched.answer(&told.approval, told.resolution == REJECTED);
        }
    }
}

impl Fold for TrialRun<'_> {
    fn concerns(&self, kind: &str) -> bool {
        const KINDS: [&str; 6] = [
            DecisionMade::KIND,
            ToolRequested::KIND,
            ToolCompleted::KIND,
            ToolFailed::KIND,
            ToolBlocked::KIND,
            ApprovalResolved::KIND,
        ];
        KINDS.contains(&kind)
    }

    fn skipped_expired_content(&mut self, kind: &str) {
        if kind == DecisionMade::KIND {
            self.trial.unjudged += 1;
            self.trial.expired_decisions += 1;
        } else {
            self.trial.expired_others += 1;
        }
    }

    /// Folds a frame. Derived events stand behind their causes, in the same frame.
    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        self.requests.clear();
        for observed in frame {
            match &*observed.event.kind {
                DecisionMade::KIND => self.judge(observed),
                ApprovalResolved::KIND => self.answer(observed),
                ToolRequested::KIND => {
                    let request = data_of(observed);
                    self.requests.extend(request.map(|request| (observed.position.get(), request)));
                }
                _ => self.end(observed),
            }
        }
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.cursor.reach(position)
    }
}
