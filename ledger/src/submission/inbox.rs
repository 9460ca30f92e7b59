//! The sequencer's inbox: requests bounded by bytes, a compressed body, the committer's word, commands.

use std::collections::VecDeque;
use std::sync::Condvar;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::host::lock_order::{OrderedMutex, OrderedMutexGuard};
use crate::limits::{MAX_COMMITS_AHEAD, QUEUE_RETRY_AFTER_S, QUEUED_REQUEST_BYTES, RESERVED_QUEUE_BYTES};
use crate::submission::append_error::AppendError;
use crate::submission::compressed_body::CompressedBody;
use crate::submission::messages::QueuedRequest;

/// The lanes of requests; each keeps its own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// In the order in which they came.
    Ordinary,
    /// Ahead of all ordinary ones, which never fill it: decisions, and what people do about them.
    Reserved,
}

/// The commands that the sequencer takes besides requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SequencerCommand {
    /// End the live segment and begin the next one.
    EndSegment,
    /// Take appends, or stop taking them.
    ReadOnly(bool),
}

/// The sequencer's letter box. One lock, held for moments; one thread waits on it.
pub(crate) struct Inbox {
    state: OrderedMutex<State>,
    wake: Condvar,
    max_bytes: usize,
    /// Requests of the reserved lane, so that nobody takes the lock to see that there is none.
    reserved: AtomicUsize,
}

#[derive(Default)]
struct State {
    requests: Vec<QueuedRequest>,
    reserved: VecDeque<QueuedRequest>,
    /// The sequencer sleeps until there is one: only then is a request worth a wake-up, and only the first.
    awaits_requests: bool,
    bytes: usize,
    reserved_bytes: usize,
    commands: Vec<SequencerCommand>,
    /// The commits that the committer was given and has not finished.
    commits: usize,
    /// The sequencer waits until the committer has at most this many left: only then is its word worth a wake-up.
    awaited_commits: Option<usize>,
    compressed: VecDeque<Result<CompressedBody, String>>,
    segment_news: bool,
    closing: bool,
}

/// The mail that the sequencer takes when it wakes.
pub(crate) struct InboxContents {
    /// Those of the reserved lane first.
    pub(crate) requests: Vec<QueuedRequest>,
    pub(crate) commands: Vec<SequencerCommand>,
    pub(crate) closing: bool,
}

impl Inbox {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            state: OrderedMutex::default(),
            wake: Condvar::new(),
            max_bytes,
            reserved: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> OrderedMutexGuard<'_, State> {
        self.state.lock()
    }

    /// Queues a request, or refuses it at once.
    pub(crate) fn put(&self, queued: QueuedRequest, lane: Lane) -> Result<(), AppendError> {
        let size = size_of(&queued);
        let mut state = self.lock();
        if state.closing {
            return Err(AppendError::Closing);
        }
        let (bytes, max_bytes) = match lane {
            Lane::Ordinary => (&mut state.bytes, self.max_bytes),
            Lane::Reserved => (&mut state.reserved_bytes, RESERVED_QUEUE_BYTES),
        };
        if *bytes + size > max_bytes {
            return Err(AppendError::QueueFull { retry_after_s: QUEUE_RETRY_AFTER_S });
        }
        *bytes += size;
        match lane {
            Lane::Ordinary => state.requests.push(queued),
            Lane::Reserved => state.reserved.push_back(queued),
        }
        self.reserved.store(state.reserved.len(), Ordering::Relaxed);
        let awaited = std::mem::take(&mut state.awaits_requests);
        drop(state);
        // A wake-up is a call into the system even where nobody sleeps.
        if awaited {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// The next request of the reserved lane, for a sequencer that is busy with ordinary ones.
    pub(crate) fn take_reserved(&self) -> Option<QueuedRequest> {
        if self.reserved.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut state = self.lock();
        let queued = state.reserved.pop_front()?;
        state.reserved_bytes = state.reserved_bytes.saturating_sub(size_of(&queued));
        self.reserved.store(state.reserved.len(), Ordering::Relaxed);
        Some(queued)
    }

    pub(crate) fn command(&self, command: SequencerCommand) {
        self.lock().commands.push(command);
        self.wake.notify_one();
    }

    /// Nothing more is taken; what waits is still worked on.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.wake.notify_one();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// The sequencer is gone: what waits is dropped, so that its callers learn that the outcome is unknown.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.closing = true;
        let dropped = state.take_requests();
        drop(state);
        drop(dropped);
    }

    /// The committer is given one more step.
    pub(crate) fn commit_begins(&self) {
        self.lock().commits += 1;
    }

    /// The committer is through with a step.
    pub(crate) fn commit_ends(&self) {
        let mut state = self.lock();
        state.commits = state.commits.saturating_sub(1);
        let awaited = state.awaited_commits.is_some_and(|most| state.commits <= most);
        drop(state);
        if awaited {
            self.wake.notify_one();
        }
    }

    /// Returns `true` if the committer has finished all it was given.
    pub(crate) fn committer_is_idle(&self) -> bool {
        self.lock().commits == 0
    }

    /// Returns `true` if nothing waits, here or at the committer.
    pub(crate) fn is_quiet(&self) -> bool {
        let state = self.lock();
        state.commits == 0 && state.has_no_requests() && state.commands.is_empty()
    }

    /// The body that the sequencer gave away is compressed, or why it never will be.
    pub(crate) fn put_compressed(&self, compressed: Result<CompressedBody, String>) {
        self.lock().compressed.push_back(compressed);
        self.wake.notify_one();
    }

    /// The compressed body, if it is there by now.
    pub(crate) fn take_compressed(&self) -> Option<Result<CompressedBody, String>> {
        self.lock().compressed.pop_front()
    }

    /// Waits for the compressed body; requests keep queueing meanwhile.
    pub(crate) fn wait_for_compressed(&self) -> Result<CompressedBody, String> {
        let nothing = |state: &mut State| state.compressed.is_empty();
        let mut state = self.lock().wait_while(&self.wake, nothing);
        state.compressed.pop_front().unwrap_or_else(|| Err("no body was compressed".to_owned()))
    }

    /// The next segment is ready, or could not be made.
    pub(crate) fn segment_has_news(&self) {
        self.lock().segment_news = true;
        self.wake.notify_one();
    }

    /// Waits for requests, commands, a compressed body, news or the end; with `staged` also for the committer to be idle.
    pub(crate) fn wait(&self, staged: bool) -> InboxContents {
        let nothing = |state: &mut State| {
            state.awaited_commits = staged.then_some(0);
            let due = staged && state.commits == 0;
            state.awaits_requests = state.has_no_requests()
                && state.commands.is_empty()
                && state.compressed.is_empty()
                && !state.segment_news
                && !state.closing
                && !due;
            state.awaits_requests
        };
        let mut state = self.lock().wait_while(&self.wake, nothing);
        state.awaited_commits = None;
        state.segment_news = false;
        self.reserved.store(0, Ordering::Relaxed);
        InboxContents {
            requests: state.take_requests(),
            commands: std::mem::take(&mut state.commands),
            closing: state.closing,
        }
    }

    /// Waits until the committer takes one more step; requests keep queueing meanwhile.
    pub(crate) fn wait_for_committer(&self) {
        let has_enough = |state: &mut State| {
            state.awaited_commits = Some(MAX_COMMITS_AHEAD - 1);
            state.commits >= MAX_COMMITS_AHEAD
        };
        let mut state = self.lock().wait_while(&self.wake, has_enough);
        state.awaited_commits = None;
    }

    /// Waits until the preallocator of segments has something new to say.
    pub(crate) fn wait_for_segment(&self) {
        let nothing = |state: &mut State| !state.segment_news;
        let mut state = self.lock().wait_while(&self.wake, nothing);
        state.segment_news = false;
    }

    /// Bytes and requests that wait.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.bytes + state.reserved_bytes, state.requests.len() + state.reserved.len())
    }
}

impl State {
    fn has_no_requests(&self) -> bool {
        self.requests.is_empty() && self.reserved.is_empty()
    }

    /// All of them, those of the reserved lane first.
    fn take_requests(&mut self) -> Vec<QueuedRequest> {
        (self.bytes, self.reserved_bytes) = (0, 0);
        let ordinary = std::mem::take(&mut self.requests);
        if self.reserved.is_empty() {
            return ordinary;
        }
        let mut requests = Vec::from(std::mem::take(&mut self.reserved));
        requests.extend(ordinary);
        requests
    }
}

fn size_of(queued: &QueuedRequest) -> usize {
    queued.request.bytes() + QUEUED_REQUEST_BYTES * queued.request.events.len()
}
