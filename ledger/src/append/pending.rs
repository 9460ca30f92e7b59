//! An append on its way: a future of its receipt.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bitacora_formats::Commitment;
use tokio::sync::oneshot;

use crate::receipt::{AppendReceipt, EventReceipt, ReceiptStatus};
use crate::shared_state::SharedState;
use crate::submission::append_error::AppendError;
use crate::submission::messages::RequestPlacement;

/// An append that the sequencer has. Resolved `Ok` ⇒ durable. Dropping it does not take the append back.
#[must_use = "an append is only known to be durable once this has resolved"]
pub struct PendingAppend {
    shared: Arc<SharedState>,
    outcome: oneshot::Receiver<Result<RequestPlacement, AppendError>>,
    /// The id and commitment of each event.
    events: Vec<(String, Commitment)>,
}

impl PendingAppend {
    pub(crate) fn new(
        shared: Arc<SharedState>,
        outcome: oneshot::Receiver<Result<RequestPlacement, AppendError>>,
        events: Vec<(String, Commitment)>,
    ) -> Self {
        Self { shared, outcome, events }
    }

    /// Blocks until the outcome is known. Not to be called from an async worker thread.
    ///
    /// # Errors
    /// Why it was not acknowledged; see [`AppendError::side_effects`].
    pub fn wait(mut self) -> Result<AppendReceipt, AppendError> {
        let receiver = std::mem::replace(&mut self.outcome, oneshot::channel().1);
        let outcome = receiver.blocking_recv().unwrap_or(Err(AppendError::Unknown))?;
        self.appended(outcome)
    }

    fn appended(&mut self, accepted: RequestPlacement) -> Result<AppendReceipt, AppendError> {
        let mut results = Vec::with_capacity(accepted.placed.len());
        for ((id, commitment), placed) in std::mem::take(&mut self.events).into_iter().zip(&accepted.placed) {
            let stream_version = placed.stream_version.ok_or(AppendError::Unknown)?;
            let status = if placed.duplicate { ReceiptStatus::Duplicate } else { ReceiptStatus::Created };
            results.push(EventReceipt { id, position: placed.position, stream_version, commitment, status });
        }
        let positions = || results.iter().map(|result| result.position);
        let (first, last) = positions().min().zip(positions().max()).ok_or(AppendError::Unknown)?;
        Ok(AppendReceipt { first, last, results, derived: accepted.derived, head: self.shared.read.head() })
    }
}

impl Future for PendingAppend {
    type Output = Result<AppendReceipt, AppendError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Poll::Ready(outcome) = Pin::new(&mut self.outcome).poll(context) else { return Poll::Pending };
        let outcome = outcome.unwrap_or(Err(AppendError::Unknown));
        Poll::Ready(outcome.and_then(|accepted| self.appended(accepted)))
    }
}
