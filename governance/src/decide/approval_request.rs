//! The approval that a call asks a person for.

use bitacora_formats::Micros;
use bitacora_vocabulary::{
    ApprovalAbout, ApprovalRequested, BoundedList, Count, DimensionPart, MAX_COMMAND_PARTS, Name,
};

use crate::calls::approval_ids::id_of_position;
use crate::decide::ladder::Evaluation;
use crate::decide::times::CallTimes;
use crate::reactor::examination::CallFacts;
use crate::refusal::{ReactorRefusal, RefusalCode};
use crate::state::State;
use crate::tools::arguments::PlaceText;
use crate::version::{is_isolated, is_strict};

/// Returns the id of the approval that a call asks for; `None` for a prediction.
pub(super) fn approval_to_ask_for(facts: &CallFacts, position: u64) -> Result<Option<Name>, ReactorRefusal> {
    if !is_isolated(facts.reactor_version) {
        return Ok(Some(id_of_position(position)));
    }
    if facts.drawn_approval.is_none() && position > 0 {
        return Err(missing_approval_id());
    }
    Ok(facts.drawn_approval.clone())
}

/// Returns the refusal for an approval whose id was not drawn.
pub(crate) fn missing_approval_id() -> ReactorRefusal {
    ReactorRefusal::new(RefusalCode::Moved, "no id was drawn for its approval; send it again")
}

/// Returns the request for an approval of a call.
pub(super) fn request_approval(
    state: &State,
    facts: &CallFacts,
    evaluation: &Evaluation,
    (approval, times): (Name, &CallTimes),
    time: Micros,
) -> ApprovalRequested {
    let destinations = facts.examined.as_ref().map(|found| found.destinations.clone());
    let (parts, more_parts) =
        if is_isolated(facts.reactor_version) { shown_parts(facts) } else { (None, None) };
    ApprovalRequested {
        approval,
        about: ApprovalAbout::Call,
        call: facts.call.clone(),
        tool: facts.tool.clone(),
        server: facts.server.clone(),
        cwd: facts.cwd.clone(),
        // Nothing is counted for a call that could not be read.
        dimension: (!facts.is_uncounted()).then(|| facts.dimension.clone()),
        destinations: destinations.and_then(|places| BoundedList::new(places).ok()),
        tool_revision: facts.tool_revision,
        action_digest: facts.action_digest().cloned(),
        policy_version: state.policy_version(),
        approvers: approvers(),
        requested_by: facts.actor.clone(),
        agent: facts.agent.clone(),
        expires: time.0.saturating_add(times.approval.0),
        at_end: times.recorded_end(),
        reason_codes: is_strict(facts.reactor_version)
            .then(|| BoundedList::new(evaluation.reviews()).ok())
            .flatten(),
        contract: None,
        more_parts,
        parts,
    }
}

/// Returns the parts of a command that an approval shows, and how many there are besides.
fn shown_parts(facts: &CallFacts) -> (Option<BoundedList<PlaceText, 1, MAX_COMMAND_PARTS>>, Option<Count>) {
    let examined =
        facts.examined.as_ref().filter(|found| found.reach.as_ref().is_some_and(|reach| reach.is_command));
    let mut parts = examined.map(|found| found.parts.clone()).unwrap_or_default();
    // That there may be others is never among those that are left out.
    parts.sort_by_key(|part| part.as_str() != DimensionPart::OPAQUE);
    let (shown, more) = parts.split_at(parts.len().min(MAX_COMMAND_PARTS));
    let more = u64::try_from(more.len()).ok().filter(|more| *more > 0).and_then(|more| Count::new(more).ok());
    (BoundedList::new(shown.to_vec()).ok(), more)
}

/// Roles that may resolve an approval.
pub(crate) fn approvers() -> Vec<Name> {
    ["operator", "admin"].into_iter().filter_map(|role| Name::new(role).ok()).collect()
}
