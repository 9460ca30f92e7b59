//! The distribution of segments to threads: in order, and never far ahead of the findings taken in.

use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use bitacora_formats::SegmentNumber;

/// The segments of a ledger, of which several threads each take the next one.
pub(super) struct SegmentQueue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    next: u32,
    last: u32,
    /// The most segments handed out beyond those taken in.
    ahead: u32,
    /// The last segment whose findings are taken in.
    taken_in: u32,
}

impl SegmentQueue {
    /// Returns the queue of every segment from `first` to `last`.
    pub(super) fn new(first: SegmentNumber, last: SegmentNumber, ahead: u32) -> Self {
        let state = State { next: first.0, last: last.0, ahead, taken_in: first.0.saturating_sub(1) };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Returns the next segment; waits until the findings before it are taken in far enough. `None` when there are no more.
    pub(super) fn claim(&self) -> Option<SegmentNumber> {
        let mut state = self.state();
        while state.next <= state.last && state.next > state.taken_in.saturating_add(state.ahead) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let number = (state.next <= state.last).then_some(SegmentNumber(state.next))?;
        state.next += 1;
        Some(number)
    }

    /// Returns `true` if every segment is handed out.
    pub(super) fn are_all_out(&self) -> bool {
        let state = self.state();
        state.next > state.last
    }

    /// Notes that the findings up to this segment are taken in.
    pub(super) fn taken_in(&self, number: SegmentNumber) {
        self.state().taken_in = number.0;
        self.changed.notify_all();
    }

    fn stop(&self) {
        let mut state = self.state();
        state.last = 0;
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard whose drop, at the end or by a panic, wakes all waiting threads: nothing more is handed out.
pub(super) struct QueueStopGuard<'a>(pub(super) &'a SegmentQueue);

impl Drop for QueueStopGuard<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Returns the default number of threads of this machine.
pub(super) fn usual_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_segment_is_handed_out_before_those_far_enough_before_it_are_taken_in() {
        let queue = SegmentQueue::new(SegmentNumber(1), SegmentNumber(5), 2);
        let (send, claimed) = channel();
        let wait = Duration::from_millis(50);
        thread::scope(|scope| {
            scope.spawn(|| {
                while let Some(number) = queue.claim() {
                    send.send(number.0).unwrap();
                }
                drop(send);
            });
            assert_eq!((claimed.recv(), claimed.recv()), (Ok(1), Ok(2)));
            assert!(claimed.recv_timeout(wait).is_err());
            queue.taken_in(SegmentNumber(1));
            assert_eq!(claimed.recv(), Ok(3));
            assert!(claimed.recv_timeout(wait).is_err());
            queue.taken_in(SegmentNumber(3));
            assert_eq!((claimed.recv(), claimed.recv()), (Ok(4), Ok(5)));
            assert!(claimed.recv().is_err());
        });
    }

    #[test]
    fn nobody_waits_for_who_has_gone() {
        let queue = SegmentQueue::new(SegmentNumber(1), SegmentNumber(5), 0);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.claim());
            drop(QueueStopGuard(&queue));
            assert_eq!(waiting.join().unwrap(), None);
        });
    }
}
