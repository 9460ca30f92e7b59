//! The state of the publisher to the witnesses as other threads see it, and its cosigned heads.

use std::sync::Arc;
use std::time::Duration;

use bitacora_formats::LedgerOrigin;

use crate::heads::cosigned::CosignedFile;
use crate::heads::signer_handle::PublishedHead;
use crate::heads::witness::Witnesses;
use crate::heads::witness::poll::WitnessPoll;
use crate::host::lock_order::{OrderedMutex, OrderedMutexGuard};
use crate::limits::WITNESS_CLOSING_PATIENCE;

/// The state of a ledger's tree heads at its witnesses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WitnessedStatus {
    /// Events under the last head that a quorum cosigned; 0 while there is none.
    pub size: u64,
    /// For how long no head could be brought to a quorum.
    pub unmet_for: Option<Duration>,
    /// Each witness by name.
    pub witnesses: Vec<WitnessStatus>,
}

/// The state of one witness.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WitnessStatus {
    /// Its name.
    pub name: String,
    /// Events that it has cosigned, as far as is known.
    pub size: u64,
    /// The number of heads that it was shown and did not cosign, since this opening.
    pub failures: u64,
}

/// The state of the publisher to the witnesses as other threads see it; they stop it through this.
#[derive(Default)]
pub(crate) struct WitnessPublisherHandle {
    state: OrderedMutex<State>,
    pub(crate) poll: Arc<WitnessPoll>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) witnessed: Option<Arc<PublishedHead>>,
    /// `None` without witnesses.
    pub(crate) status: Option<WitnessedStatus>,
    /// By [`crate::host::clock::Clock::passed`].
    pub(crate) unmet_since: Option<Duration>,
}

/// The publisher's share of an opening.
pub(crate) struct WitnessPublisherStart {
    pub(crate) witnesses: Witnesses,
    /// The origin of the heads that are brought. An earlier generation is another log to a witness.
    pub(crate) origin: LedgerOrigin,
    /// The cosigned head beside the newest segment that has one.
    pub(crate) kept: Option<CosignedFile>,
    /// The size that each witness said it cosigned last.
    pub(crate) sizes: Vec<Option<u64>>,
}

impl WitnessPublisherHandle {
    /// The last head that a quorum of the witnesses cosigned.
    pub(crate) fn latest(&self) -> Option<Arc<PublishedHead>> {
        self.lock().witnessed.clone()
    }

    pub(crate) fn status(&self, passed: Duration) -> Option<WitnessedStatus> {
        let state = self.lock();
        let unmet_for = state.unmet_since.map(|since| passed.saturating_sub(since));
        Some(WitnessedStatus { unmet_for, ..state.status.clone()? })
    }

    /// The last head is brought to the witnesses once more, if that goes quickly.
    pub(crate) fn close(&self) {
        self.poll.close(WITNESS_CLOSING_PATIENCE);
    }

    pub(crate) fn publish(&self, head: PublishedHead) {
        let mut state = self.lock();
        if let Some(status) = &mut state.status {
            status.size = head.size;
        }
        state.witnessed = Some(Arc::new(head));
    }

    pub(crate) fn lock(&self) -> OrderedMutexGuard<'_, State> {
        self.state.lock()
    }
}
