//! The acts that have not come to their end: what was recorded of them stays, whatever the retention policy says.

use std::collections::BTreeSet;

use bitacora_formats::Micros;
use bitacora_vocabulary::{Name, Resolution};
use serde::Deserialize;

use crate::calls::approvals::{Approval, ApprovalStatus};
use crate::calls::imported_key;
use crate::command::says_imported;
use crate::state::{GovernedTime, State};

/// Calls of which an outcome may still come, calls that wait for a person or for what a person gave, and imports that have not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnfinishedActs {
    calls: BTreeSet<Name>,
    is_importing: bool,
    /// The keys of imported calls without an outcome.
    imported_calls: BTreeSet<Name>,
}

/// An event, as far as it tells of which call and of which import it is.
#[derive(Debug, Clone, Copy)]
pub struct ActEvent<'a> {
    /// The stream.
    pub stream: &'a str,
    /// The call that its attribute names.
    pub call: Option<&'a str>,
    /// Its data, if that is JSON in clear.
    pub data: Option<&'a [u8]>,
    /// `true` if its data is sealed, so that nothing tells whether it was imported.
    pub is_sealed: bool,
}

impl UnfinishedActs {
    /// Returns `true` if an event belongs to one of them. While an import goes on, every sealed event may.
    #[must_use]
    pub fn include(&self, event: &ActEvent<'_>) -> bool {
        event.call.is_some_and(|call| self.calls.contains(call))
            || self.is_importing && (event.is_sealed || self.may_be_imported(event))
    }

    fn may_be_imported(&self, event: &ActEvent<'_>) -> bool {
        let is_open = |call| self.imported_calls.contains(&imported_key(event.stream, call));
        event.data.is_some_and(|data| says_imported(data) || is_marked(data))
            || event.call.is_some_and(is_open)
    }
}

/// Returns `true` if the data of a decision says that it was made on what was recorded elsewhere.
fn is_marked(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct MarkedDecision {
        inputs: MarkedInputs,
    }
    #[derive(Deserialize)]
    struct MarkedInputs {
        #[serde(default)]
        imported: bool,
    }
    serde_json::from_slice::<MarkedDecision>(json).is_ok_and(|decision| decision.inputs.imported)
}

impl State {
    /// Returns the acts that have not come to their end at this time.
    #[must_use]
    pub fn unfinished_acts(&self, at: Micros) -> UnfinishedActs {
        let open = self.calls.unfinished(at);
        let waits = |approval: &&Approval| match &approval.status {
            ApprovalStatus::Pending => true,
            ApprovalStatus::Resolved { resolution, .. } => {
                let is_yes = matches!(resolution.resolution, Resolution::Approved | Resolution::Edited);
                is_yes && at.0 < approval.request.expires
            }
            ApprovalStatus::Consumed { .. } => false,
        };
        let waiting = self.approvals.iter().filter(waits);
        let calls = open.chain(waiting.map(|approval| &approval.request.call)).cloned().collect();
        let is_importing =
            self.imported.iter().next().is_some() || *self.imported_time.get() != GovernedTime::default();
        let imported_calls = self.imported_calls.by_id.iter().map(|(key, _)| key.clone()).collect();
        UnfinishedActs { calls, is_importing, imported_calls }
    }
}
