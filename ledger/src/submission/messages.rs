//! The messages between the threads of an append: requests on their way in, outcomes on their way out.

use bitacora_formats::{Position, StreamVersion};
use tokio::sync::oneshot;

use crate::dedup::segment_ids::KnownIdentity;
use crate::receipt::DerivedReceipt;
use crate::stream_tips::Tip;
use crate::submission::append_error::AppendError;
use crate::submission::prepare::PreparedRequest;

/// The channel for the outcome of a request.
pub(crate) type Reply = oneshot::Sender<Result<RequestPlacement, AppendError>>;

/// A request on its way to the sequencer.
pub(crate) struct QueuedRequest {
    pub(crate) request: PreparedRequest,
    pub(crate) reply: Reply,
}

/// A request that was admitted: where its events stand.
#[derive(Debug, Clone)]
pub(crate) struct RequestPlacement {
    pub(crate) placed: Vec<EventPlacement>,
    pub(crate) derived: Vec<DerivedReceipt>,
}

impl RequestPlacement {
    pub(crate) fn has_duplicates(&self) -> bool {
        self.placed.iter().any(|placed| placed.stream_version.is_none())
    }
}

/// The place of one event of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventPlacement {
    pub(crate) position: Position,
    /// `None` for a duplicate until its original receipt was read back from the log.
    pub(crate) stream_version: Option<StreamVersion>,
    pub(crate) duplicate: bool,
}

impl EventPlacement {
    pub(crate) fn new(tip: Tip) -> Self {
        Self { position: tip.position, stream_version: Some(tip.version), duplicate: false }
    }

    pub(crate) fn before(known: KnownIdentity) -> Self {
        Self { position: known.position, stream_version: None, duplicate: true }
    }
}

/// The outcome of a request, held back until what it rests on is durable.
pub(crate) struct RequestAnswer {
    pub(crate) reply: Reply,
    pub(crate) outcome: Result<RequestPlacement, AppendError>,
}

/// A caller that no longer listens learns the outcome by repeating its request.
pub(crate) fn give(reply: Reply, outcome: Result<RequestPlacement, AppendError>) {
    drop(reply.send(outcome));
}

/// A duplicate's answer that lacks what only the log knows: stream versions and derived events.
pub(crate) struct IncompleteAnswer {
    pub(crate) reply: Reply,
    pub(crate) accepted: RequestPlacement,
}
