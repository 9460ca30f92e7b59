//! The acts that have not come to their end: what was recorded of them stays, whatever the retention policy says.

use std::collections::BTreeSet;

use bitacora_formats::Micros;
use bitacora_vocabulary::{Name, Resolution};

use crate::calls::approvals::{Approval, ApprovalStatus};
use crate::command::says_imported;
use crate::state::{GovernedTime, State};

/// Calls of which an outcome may still come, calls that wait for a person or for what a person gave, and imports that have not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnfinishedActs {
    calls: BTreeSet<Name>,
    is_importing: bool,
}

impl UnfinishedActs {
    /// Returns `true` if an event belongs to one of them: by the call that it names, or by its data, if that is JSON in clear.
    #[must_use]
    pub fn include(&self, call: Option<&str>, data: Option<&[u8]>) -> bool {
        call.is_some_and(|call| self.calls.contains(call))
            || self.is_importing && data.is_some_and(says_imported)
    }
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
        UnfinishedActs { calls, is_importing }
    }
}
