//! Idle threads, which open frames for threads that still check segments.
//!
//! A thread that hands a frame out takes it in again in its order, and opens frames itself while it waits. So no thread
//! depends on an idle one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bitacora_formats::{Decompressor, FrameHeader, WalkedFrame};

use super::frames::{OpenedEvent, OpenedFrame, Openers, SegmentOpener};

/// The most bytes of all frames that are handed out, and of their opened contents.
const AHEAD_BYTES: usize = 16 * 1024 * 1024;
/// The fewest bytes of the body of a frame that is handed out: a smaller one is opened sooner than another thread is woken.
const MIN_HANDED_BODY_BYTES: u32 = 16 * 1024;

/// The frames that wait to be opened; shared by all threads.
pub(super) struct IdleThreads {
    state: Mutex<State>,
    changed: Condvar,
    /// Set when there are more threads than segments to be passed over, or soon will be.
    expected: AtomicBool,
    /// The part of [`AHEAD_BYTES`] that is taken.
    taken_bytes: Arc<AtomicUsize>,
}

struct State {
    waiting: VecDeque<PendingFrame>,
    /// The number of threads that may still hand out frames.
    passing: usize,
}

/// A frame detached from its segment.
pub(super) struct DetachedFrame {
    pub(super) offset: u64,
    pub(super) header: FrameHeader,
    pub(super) bytes: Vec<u8>,
}

/// A frame that waits to be opened, and the receiver of its contents.
struct PendingFrame {
    segment: Arc<SegmentOpener>,
    frame: Arc<DetachedFrame>,
    opened: SyncSender<(OpenedFrame, ByteReservation)>,
    taken: ByteReservation,
}

/// A frame that is handed out.
pub(super) struct QueuedFrame {
    frame: Arc<DetachedFrame>,
    opened: Receiver<(OpenedFrame, ByteReservation)>,
}

/// A share of [`AHEAD_BYTES`], given back when it is dropped.
struct ByteReservation {
    of: Arc<AtomicUsize>,
    bytes: usize,
}

impl IdleThreads {
    /// Returns the state for this many threads, all of which pass over segments at first.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            state: Mutex::new(State { waiting: VecDeque::new(), passing: threads }),
            changed: Condvar::new(),
            expected: AtomicBool::new(false),
            taken_bytes: Arc::default(),
        }
    }

    /// Starts the handing out of frames.
    pub(super) fn expect(&self) {
        self.expected.store(true, Ordering::Relaxed);
    }

    /// Hands out a frame, unless no thread is expected to open it, it is too small, or too many are handed out.
    pub(super) fn hand_out(
        &self,
        segment: &Arc<SegmentOpener>,
        frame: &WalkedFrame<'_>,
    ) -> Option<QueuedFrame> {
        let (offset, header) = (frame.offset, *frame.stored.header());
        if header.body_bytes < MIN_HANDED_BODY_BYTES || !self.expected.load(Ordering::Relaxed) {
            return None;
        }
        let taken =
            self.take_bytes(header.stored_bytes() + header.count as usize * size_of::<OpenedEvent>())?;
        let frame = Arc::new(DetachedFrame { offset, header, bytes: frame.stored.bytes().to_vec() });
        let (send, opened) = sync_channel(1);
        let waiting =
            PendingFrame { segment: Arc::clone(segment), frame: Arc::clone(&frame), opened: send, taken };
        self.state().waiting.push_back(waiting);
        self.changed.notify_one();
        Some(QueuedFrame { frame, opened })
    }

    /// Returns a frame that was handed out, opened. While it is not, this thread opens others.
    pub(super) fn take_in(
        &self,
        handed: QueuedFrame,
        openers: &Openers<'_>,
        decompressor: &mut Decompressor,
    ) -> Result<OpenedFrame, Arc<DetachedFrame>> {
        loop {
            let opened = match handed.opened.try_recv() {
                Ok(opened) => Some(opened),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => {
                    let waiting = self.state().waiting.pop_front();
                    if let Some(waiting) = waiting {
                        waiting.open(openers, decompressor);
                        continue;
                    }
                    // Somebody is opening it.
                    handed.opened.recv().ok()
                }
            };
            return opened.map(|(opened, _)| opened).ok_or(handed.frame);
        }
    }

    /// Opens frames until nobody can hand out any more.
    pub(super) fn help(&self, openers: &Openers<'_>, decompressor: &mut Decompressor) {
        let mut state = self.state();
        while state.passing > 0 {
            state = if let Some(waiting) = state.waiting.pop_front() {
                drop(state);
                waiting.open(openers, decompressor);
                self.state()
            } else {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    fn take_bytes(&self, bytes: usize) -> Option<ByteReservation> {
        let of = Arc::clone(&self.taken_bytes);
        let with = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= AHEAD_BYTES);
        of.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).ok()?;
        Some(ByteReservation { of, bytes })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingFrame {
    fn open(self, openers: &Openers<'_>, decompressor: &mut Decompressor) {
        let opened = openers.open_loose(&self.segment, &self.frame, decompressor);
        // The thread that handed it out may have stopped at an earlier frame.
        let _unwanted = self.opened.send((opened, self.taken)).is_err();
    }
}

impl Drop for ByteReservation {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A guard for a thread that passes over segments, until it ends or panics.
pub(super) struct PassGuard<'a>(pub(super) &'a IdleThreads);

impl Drop for PassGuard<'_> {
    fn drop(&mut self) {
        self.0.state().passing -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_bytes_are_handed_out_than_may_be_and_all_come_back() {
        let idle = IdleThreads::new(2);
        let [most, rest] = [AHEAD_BYTES - 1, 1].map(|bytes| idle.take_bytes(bytes).unwrap());
        assert!(idle.take_bytes(1).is_none() && idle.take_bytes(usize::MAX).is_none());
        drop(rest);
        assert!(idle.take_bytes(2).is_none() && idle.take_bytes(1).is_some());
        drop(most);
        assert!(idle.take_bytes(AHEAD_BYTES + 1).is_none() && idle.take_bytes(AHEAD_BYTES).is_some());
    }
}
