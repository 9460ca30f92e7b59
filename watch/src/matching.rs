//! The decision whether a call that a transcript showed passed the gate.

use std::collections::{HashMap, HashSet};

use bitacora_api::CallAnswer;

use crate::evidence::Dodge;
use crate::followed::SeenCall;

/// The states of a recorded call that may not run.
const NOT_ALLOWED: [&str; 5] = ["denied", "pending", "rejected", "expired", "withdrawn"];

/// Decides about a call that the gate knows by its id, or does not know.
pub(crate) fn dodge_by_id(call: &SeenCall, recorded: Option<&CallAnswer>) -> Option<Dodge> {
    let Some(end) = &call.end else { return recorded.is_none().then_some(Dodge::Unfinished) };
    match recorded {
        None => end.ran.then_some(Dodge::Unasked),
        // An end that was told has a gap of its own, if there is one.
        Some(recorded) => {
            let is_told = recorded.outcome.is_some();
            let may_not = NOT_ALLOWED.contains(&recorded.state.as_str());
            (may_not && end.surely_ran && !is_told).then_some(Dodge::NotAllowed)
        }
    }
}

/// The gate's requests of one session whose harness names no calls.
///
/// A call of the transcript takes the oldest request with its tool and its arguments. Equal calls may swap their requests,
/// which changes nothing but the name in the gap: they are equal.
#[derive(Debug, Default)]
pub(crate) struct SessionRequests {
    /// The position up to which requests are read.
    pub(crate) after: Option<String>,
    free: HashMap<blake3::Hash, u32>,
    /// Calls that took a request, and calls whose gap this process recorded: they take no other one.
    decided: HashSet<String>,
    /// Calls of which somebody recorded a gap before: they take no request, and are decided again. `None`: the gaps are not read yet.
    recorded_gaps: Option<HashSet<String>>,
}

impl SessionRequests {
    /// Returns `true` if the recorded gaps are known.
    pub(crate) fn knows_gaps(&self) -> bool {
        self.recorded_gaps.is_some()
    }

    /// Adds calls of which a gap was recorded before.
    pub(crate) fn add_recorded_gaps(&mut self, calls: impl IntoIterator<Item = String>) {
        self.recorded_gaps.get_or_insert_default().extend(calls);
    }

    /// Adds a call whose gap is recorded now.
    pub(crate) fn add_decided(&mut self, call: String) {
        self.decided.insert(call);
    }

    /// Adds a request of the gate.
    pub(crate) fn add(&mut self, key: blake3::Hash) {
        let free = self.free.entry(key).or_default();
        *free = free.saturating_add(1);
    }

    /// Decides about a call, and takes its request. A call that did not run takes one too, if it was asked about.
    pub(crate) fn dodge(&mut self, call: &SeenCall) -> Option<Dodge> {
        if self.decided.contains(&call.call) {
            return None;
        }
        let is_gap = self.recorded_gaps.as_ref().is_some_and(|gaps| gaps.contains(&call.call));
        if let Some(free) = self.free.get_mut(&call.args).filter(|free| **free > 0 && !is_gap) {
            *free = free.saturating_sub(1);
            self.decided.insert(call.call.clone());
            return None;
        }
        match &call.end {
            None => Some(Dodge::Unfinished),
            Some(end) => end.ran.then_some(Dodge::Unasked),
        }
    }
}
