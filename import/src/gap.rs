//! Calls whose beginning is in a source, and whose end is not.

use bitacora_vocabulary::{CoverageGap, EventData};

use super::event_draft::EventDraft;
use super::json_text::JsonObject;

/// The suffix of request ids.
const REQUESTED: &str = "requested";

/// Returns the `coverage.gap` of a call, beside its request.
pub(crate) fn gap_of(requested: &EventDraft, evidence: &str) -> EventDraft {
    let id = requested.id.strip_suffix(REQUESTED).unwrap_or(&requested.id);
    let data = JsonObject::new()
        .text("call", requested.call.as_deref().unwrap_or_default())
        .text("evidence", evidence)
        .text("missing", "outcome")
        .text("assurance", "imported");
    EventDraft {
        id: format!("{id}gap"),
        source: requested.source.clone(),
        kind: CoverageGap::KIND.into(),
        stream: requested.stream.clone(),
        time: requested.time.clone(),
        actor: requested.actor.clone(),
        agent: requested.agent.clone(),
        session: requested.session.clone(),
        run: requested.run.clone(),
        call: requested.call.clone(),
        data: data.end(),
    }
}
