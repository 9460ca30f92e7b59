//! The start of a replay behind events whose content expired: at the first state that archives or a restoration keep there.

use std::collections::BTreeSet;

use bitacora_formats::{After, Position};
use bitacora_ledger::{ArchivedReactorState, Ledger, READABLE_STATES};
use serde_json::{Value, json};

use crate::error::ReplayError;

/// Content that expired before the state that a replay begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredContent {
    /// The last event that is folded in the state.
    pub begins_after: Position,
    /// The number of events up to there whose content expired, of those that the replay rests on.
    pub events: u64,
    /// The events that set the policies under which it expired.
    pub policies: BTreeSet<Position>,
}

/// The expired events that a replay rests on.
#[derive(Default)]
struct ExpiredEvents {
    last: Option<Position>,
    events: u64,
    policies: BTreeSet<Position>,
}

/// Returns the first kept state from which a replay to `to` meets no expired content, and what expired before it. `rests_on` says of a type
/// whether the replay reads the content of its events. Every event up to `to` is read.
///
/// # Errors
/// [`ReplayError::Expired`] where no state stands there; [`ReplayError::KeptState`] where it cannot be read.
pub(crate) fn begin_behind(
    ledger: &Ledger,
    to: Position,
    rests_on: impl Fn(&str) -> bool,
) -> Result<(ArchivedReactorState, ExpiredContent), ReplayError> {
    let mut expired = ExpiredEvents::default();
    ledger.visit(After::START, to, &mut |visited| {
        let Some(substitute) = visited.record.expired().filter(|_| rests_on(&visited.record.kind)) else {
            return;
        };
        expired.last = Some(visited.position);
        expired.events += 1;
        expired.policies.insert(substitute.policy);
    })?;
    let last = expired.last.unwrap_or(Position::FIRST);
    let kept = ledger.kept_state_positions(&READABLE_STATES)?;
    let behind = kept.into_iter().find(|position| *position >= last);
    let at = behind.filter(|position| *position <= to).ok_or(ReplayError::Expired { to, last, behind })?;
    let state = ledger.kept_state_at(at, &READABLE_STATES)?;
    let state = state.ok_or(ReplayError::Expired { to, last, behind: None })?;
    let ExpiredEvents { events, policies, .. } = expired;
    Ok((state, ExpiredContent { begins_after: at, events, policies }))
}

impl ExpiredContent {
    /// Returns it as one line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { begins_after, events, policies } = self;
        let policies: Vec<_> = policies.iter().map(ToString::to_string).collect();
        let policies = match policies.as_slice() {
            [one] => format!("policy of event {one}"),
            several => format!("policies of events {}", several.join(", ")),
        };
        format!(
            "after {begins_after}: the content of {events} events up to there expired under the {policies}"
        )
    }

    /// Returns it as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "after": self.begins_after.to_string(),
            "expired": self.events,
            "policies": self.policies.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}
