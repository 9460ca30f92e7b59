//! The time for which the peer has kept us waiting.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Counts the time spent waiting for the peer, and only that: what our own side takes is not held against it.
///
/// The timer is set anew only when it would ring too late, so that a busy connection never touches it.
#[derive(Default)]
pub(crate) struct PeerWait {
    since: Option<Instant>,
    waited: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl PeerWait {
    /// The peer moved: the current pause is over.
    pub(crate) fn pause_is_over(&mut self) {
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
    }

    /// Takes off so much of the waiting that the peer has made good for. Nothing is saved for later.
    pub(crate) fn earn(&mut self, time: Duration) {
        self.waited = self.waited.saturating_sub(time);
    }

    /// Returns the time since which it is waited for now, if it is.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Something new is waited for: earlier waiting is forgotten.
    pub(crate) fn begin_anew(&mut self) {
        self.since = None;
        self.waited = Duration::ZERO;
    }

    /// Ready when this pause is longer than `pause` or all waiting since [`Self::begin_anew`] longer than `total`;
    /// pending otherwise, and then the task is woken in time.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>, pause: Duration, total: Duration) -> Poll<()> {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        let deadline = since + pause.min(total.saturating_sub(self.waited));
        if now >= deadline {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}
