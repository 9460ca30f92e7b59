//! The append of the ledger's own events.

use bitacora_formats::Position;
use tokio::sync::oneshot;

use crate::append::service_events::ServiceEvent;
use crate::shared_state::SharedState;
use crate::submission::append_error::AppendError;
use crate::submission::inbox::Lane;
use crate::submission::messages::{QueuedRequest, RequestPlacement};
use crate::submission::prepare::PreparedRequest;

/// Appends one of the ledger's own events and waits for its sync. Returned `Ok` ⇒ durable.
pub(crate) fn append_own(shared: &SharedState, event: &ServiceEvent<'_>) -> Result<(), AppendError> {
    place_own(shared, event).map(|_| ())
}

/// As [`append_own`]; returns where the event stands: that of the first time, where it is recorded already.
pub(crate) fn append_own_at(shared: &SharedState, event: &ServiceEvent<'_>) -> Result<Position, AppendError> {
    let placed = place_own(shared, event)?.placed;
    placed.first().map(|event| event.position).ok_or(AppendError::Unknown)
}

fn place_own(shared: &SharedState, event: &ServiceEvent<'_>) -> Result<RequestPlacement, AppendError> {
    let next = shared.read.head().position.next().ok_or(AppendError::Closing)?;
    let request: PreparedRequest = event.prepare(&shared.write.preparer, shared.id, next)?;
    let (reply, outcome) = oneshot::channel();
    shared.write.inbox.put(QueuedRequest { request, reply }, Lane::Ordinary)?;
    outcome.blocking_recv().unwrap_or(Err(AppendError::Unknown))
}
