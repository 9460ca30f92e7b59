//! The approval that asks a person for a rollback of a call whose effects failed a check.

use bitacora_vocabulary::{ApprovalAbout, ApprovalRequested, BoundedText, Name};

use crate::calls::approval_ids::id_of_position;
use crate::calls::ended_calls::CheckedCall;
use crate::decide::approval_request::{approvers, missing_approval_id};
use crate::reactor::ObservedEvent;
use crate::refusal::ReactorRefusal;
use crate::state::State;
use crate::version::is_isolated;

/// Bytes of a name.
const MAX_NAME_BYTES: usize = 256;

impl State {
    /// Returns the id of the approval that asks a person for a rollback of the call.
    pub(crate) fn rollback_to_ask_for(
        &self,
        drawn: Option<&Name>,
        placed: &ObservedEvent<'_>,
    ) -> Result<Name, ReactorRefusal> {
        if !is_isolated(self.rules.get().version()) {
            return Ok(id_of_position(placed.position.get()));
        }
        drawn.cloned().ok_or_else(missing_approval_id)
    }

    /// Returns the request that asks a person for a rollback of the call. The executor of the rollback records `rollback.executed`.
    pub(crate) fn request_rollback(
        &self,
        approval: Name,
        checked: &CheckedCall<'_>,
        call: &Name,
        contract: Option<&Name>,
        placed: &ObservedEvent<'_>,
    ) -> ApprovalRequested {
        ApprovalRequested {
            approval,
            about: ApprovalAbout::Rollback,
            call: call.clone(),
            tool: fitting(checked.dimension.tool()),
            server: None,
            cwd: None,
            dimension: Some(checked.dimension.clone()),
            destinations: None,
            tool_revision: None,
            action_digest: None,
            policy_version: None,
            approvers: approvers(),
            requested_by: placed.event.actor.as_deref().and_then(|actor| BoundedText::new(actor).ok()),
            agent: checked.agent.and_then(|agent| BoundedText::new(agent).ok()),
            expires: placed.time.0.saturating_add(self.times_of_named(checked.dimension.tool()).approval.0),
            at_end: None,
            reason_codes: None,
            parts: None,
            more_parts: None,
            contract: contract.cloned(),
        }
    }
}

/// Returns as much of a text as a name takes.
fn fitting(text: &str) -> Name {
    let end = text.floor_char_boundary(MAX_NAME_BYTES);
    Name::new(text.get(..end).unwrap_or_default()).unwrap_or(Name::LEAST)
}
