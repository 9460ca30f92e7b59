//! The state of the head signer as other threads see it, and its published heads.

use std::sync::{Arc, Condvar};
use std::time::Duration;

use bitacora_formats::{SignedTreeHead, TreeHash, VerifierKey};

use crate::host::lock_order::{OrderedMutex, OrderedMutexGuard};

/// A tree head that is signed, durable, and stored by the anchor where that could be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedHead {
    /// The number of events that it covers.
    pub size: u64,
    /// The root over their leaves.
    pub root: TreeHash,
    /// The signed note.
    pub note: String,
}

impl From<&SignedTreeHead> for PublishedHead {
    fn from(head: &SignedTreeHead) -> Self {
        Self { size: head.head().size, root: head.head().root, note: head.note().to_string() }
    }
}

/// The state of a ledger's tree heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeadStatus {
    /// Events that the last published head covers; 0 while there is none.
    pub size: u64,
    /// Events that the anchor remembers, as far as is known; `None` without an anchor.
    pub anchored: Option<u64>,
    /// For how long the anchor could not be moved.
    pub unanchored_for: Option<Duration>,
    /// Heads published since this opening.
    pub published: u64,
    /// Heads that could not be made since this opening.
    pub failed: u64,
}

/// The head signer's state as other threads see it, with the way to notify the head signer.
#[derive(Default)]
pub(crate) struct HeadSignerHandle {
    state: OrderedMutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    is_due: bool,
    closing: bool,
    latest: Option<Arc<PublishedHead>>,
    verifier_key: Option<VerifierKey>,
    status: HeadStatus,
    /// By [`crate::host::clock::Clock::passed`].
    unanchored_since: Option<Duration>,
}

impl HeadSignerHandle {
    /// Tells what is known before the thread runs: the key of heads, the last head, and the size that the anchor remembers.
    pub(crate) fn begin(
        &self,
        verifier_key: Option<VerifierKey>,
        latest: Option<PublishedHead>,
        anchored: Option<u64>,
    ) {
        let mut state = self.lock();
        state.verifier_key = verifier_key;
        state.status.size = latest.as_ref().map_or(0, |head| head.size);
        state.status.anchored = anchored;
        state.latest = latest.map(Arc::new);
    }

    /// Tells the last head of a ledger that is read alone.
    pub(crate) fn stands_at(&self, latest: PublishedHead) {
        let mut state = self.lock();
        state.status.size = latest.size;
        state.latest = Some(Arc::new(latest));
    }

    /// The last published head.
    pub(crate) fn latest(&self) -> Option<Arc<PublishedHead>> {
        self.lock().latest.clone()
    }

    /// The key that heads are verified with.
    pub(crate) fn verifier_key(&self) -> Option<VerifierKey> {
        self.lock().verifier_key.clone()
    }

    /// `passed` by the clock until now.
    pub(crate) fn status(&self, passed: Duration) -> HeadStatus {
        let state = self.lock();
        let unanchored_for = state.unanchored_since.map(|since| passed.saturating_sub(since));
        HeadStatus { unanchored_for, ..state.status }
    }

    /// A head is due early: a segment ended, or much waits to be read back.
    pub(crate) fn is_due(&self) {
        self.lock().is_due = true;
        self.wake.notify_all();
    }

    /// One head more is made, the last.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.wake.notify_all();
    }

    /// Waits until a head is due; whether it is the last.
    pub(crate) fn wait(&self, every: Duration) -> bool {
        let early = |state: &mut State| !state.is_due && !state.closing;
        let mut state = self.lock().wait_timeout_while(&self.wake, every, early);
        state.is_due = false;
        state.closing
    }

    pub(crate) fn publish(&self, head: PublishedHead) {
        let mut state = self.lock();
        state.status.size = head.size;
        state.status.published += 1;
        state.latest = Some(Arc::new(head));
    }

    /// A head could not be made.
    pub(crate) fn head_failed(&self) {
        self.lock().status.failed += 1;
    }

    /// The anchor remembers the head of this size.
    pub(crate) fn anchor_moved(&self, size: u64) {
        let mut state = self.lock();
        state.status.anchored = Some(size);
        state.unanchored_since = None;
    }

    /// The anchor could not be moved, at this time by [`crate::host::clock::Clock::passed`].
    pub(crate) fn anchor_failed(&self, passed: Duration) {
        self.lock().unanchored_since.get_or_insert(passed);
    }

    fn lock(&self) -> OrderedMutexGuard<'_, State> {
        self.state.lock()
    }
}
