//! What waits for the sequencer: requests bounded by bytes, the committer's word that it is idle, and commands.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::AppendError;
use crate::limits::{QUEUE_RETRY_AFTER_S, QUEUED_REQUEST_BYTES};
use crate::prepare::PreparedRequest;
use crate::sequencer::Accepted;

/// Where the outcome of a request goes.
pub(crate) type Reply = oneshot::Sender<Result<Accepted, AppendError>>;

/// A request on its way to the sequencer.
pub(crate) struct Queued {
    pub(crate) request: PreparedRequest,
    pub(crate) reply: Reply,
}

/// What the sequencer is told besides requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// End the live segment and begin the next one.
    EndSegment,
    /// Take appends, or stop taking them.
    ReadOnly(bool),
}

/// The sequencer's letter box. One lock, held for moments; one thread waits on it.
pub(crate) struct Inbox {
    state: Mutex<State>,
    wake: Condvar,
    max_bytes: usize,
}

#[derive(Default)]
struct State {
    requests: Vec<Queued>,
    bytes: usize,
    commands: Vec<Command>,
    committer_busy: bool,
    /// The sequencer waits for the committer: only then is its word worth a wake-up.
    awaiting_idle: bool,
    supply_news: bool,
    closing: bool,
}

/// What the sequencer found when it woke.
pub(crate) struct Mail {
    pub(crate) requests: Vec<Queued>,
    pub(crate) commands: Vec<Command>,
    pub(crate) committer_idle: bool,
    pub(crate) closing: bool,
}

impl Inbox {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { state: Mutex::default(), wake: Condvar::new(), max_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request, or refuses it at once.
    pub(crate) fn put(&self, queued: Queued) -> Result<(), AppendError> {
        let size = queued.request.bytes() + QUEUED_REQUEST_BYTES * queued.request.events.len();
        let mut state = self.lock();
        if state.closing {
            return Err(AppendError::Closing);
        }
        if state.bytes + size > self.max_bytes {
            return Err(AppendError::QueueFull { retry_after_s: QUEUE_RETRY_AFTER_S });
        }
        state.bytes += size;
        state.requests.push(queued);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    pub(crate) fn command(&self, command: Command) {
        self.lock().commands.push(command);
        self.wake.notify_one();
    }

    /// Nothing more is taken; what waits is still worked on.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.wake.notify_one();
    }

    /// The sequencer is gone: what waits is dropped, so that its callers learn that the outcome is unknown.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.closing = true;
        let dropped = std::mem::take(&mut state.requests);
        state.bytes = 0;
        drop(state);
        drop(dropped);
    }

    pub(crate) fn committer_is_busy(&self) {
        self.lock().committer_busy = true;
    }

    pub(crate) fn committer_is_idle(&self) {
        let mut state = self.lock();
        state.committer_busy = false;
        let awaited = state.awaiting_idle;
        drop(state);
        if awaited {
            self.wake.notify_one();
        }
    }

    /// The next segment is ready, or could not be made.
    pub(crate) fn supply_has_news(&self) {
        self.lock().supply_news = true;
        self.wake.notify_one();
    }

    /// Waits for requests, commands, news or the end; with `staged` also for the committer to be idle.
    pub(crate) fn wait(&self, staged: bool) -> Mail {
        let nothing = |state: &mut State| {
            state.awaiting_idle = staged && state.committer_busy;
            let due = staged && !state.committer_busy;
            state.requests.is_empty()
                && state.commands.is_empty()
                && !state.supply_news
                && !state.closing
                && !due
        };
        let mut state = self.wake.wait_while(self.lock(), nothing).unwrap_or_else(PoisonError::into_inner);
        state.awaiting_idle = false;
        state.supply_news = false;
        state.bytes = 0;
        Mail {
            requests: std::mem::take(&mut state.requests),
            commands: std::mem::take(&mut state.commands),
            committer_idle: !state.committer_busy,
            closing: state.closing,
        }
    }

    /// Waits until the committer has nothing to do; requests keep queueing meanwhile.
    pub(crate) fn wait_for_idle_committer(&self) {
        let busy = |state: &mut State| {
            state.awaiting_idle = state.committer_busy;
            state.committer_busy
        };
        drop(self.wake.wait_while(self.lock(), busy).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until the supply of segments has something new to say.
    pub(crate) fn wait_for_supply(&self) {
        let nothing = |state: &mut State| !state.supply_news;
        let mut state = self.wake.wait_while(self.lock(), nothing).unwrap_or_else(PoisonError::into_inner);
        state.supply_news = false;
    }

    /// Bytes and requests that wait.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.bytes, state.requests.len())
    }
}
