//! The place of a replay in its log: how far it is, and the signal that stops it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_formats::Position;

/// A listener for the number of events that were read.
pub trait ReplayProgress {
    /// Takes in the number of events that were read since the last call.
    fn advance(&self, events: u64);
}

/// A signal that stops a replay early.
#[derive(Clone, Default)]
pub struct ReplayStop(Arc<AtomicBool>);

impl ReplayStop {
    /// Stops the replay, at the end of its frame.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The place of a replay in its log.
pub struct ReplayCursor {
    reached: u64,
    stop: ReplayStop,
    progress: Box<dyn ReplayProgress>,
}

impl ReplayCursor {
    /// Returns the cursor before the first event.
    #[must_use]
    pub fn new(stop: ReplayStop, progress: impl ReplayProgress + 'static) -> Self {
        Self { reached: 0, stop, progress: Box::new(progress) }
    }

    /// Moves the cursor to a position up to which nothing has to be read.
    pub(crate) fn skip_to(&mut self, position: u64) {
        self.progress.advance(position.saturating_sub(self.reached));
        self.reached = position;
    }

    /// Moves the cursor to the position that was read last. Returns `Break` once the replay was told to stop.
    pub(crate) fn reach(&mut self, position: Position) -> ControlFlow<()> {
        self.progress.advance(position.get().saturating_sub(self.reached));
        self.reached = position.get();
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns the last position that was read, 0 before the first.
    pub(crate) fn reached(&self) -> u64 {
        self.reached
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_told()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    struct Sum(Rc<Cell<u64>>);

    impl ReplayProgress for Sum {
        fn advance(&self, events: u64) {
            self.0.set(self.0.get() + events);
        }
    }

    #[test]
    fn events_are_counted_once_and_a_signal_breaks_the_next_step() {
        let (sum, stop) = (Rc::new(Cell::new(0)), ReplayStop::default());
        let mut cursor = ReplayCursor::new(stop.clone(), Sum(Rc::clone(&sum)));
        let position = |position| Position::new(position).unwrap();
        cursor.skip_to(5);
        assert_eq!(cursor.reach(position(7)), ControlFlow::Continue(()));
        stop.now();
        assert_eq!(cursor.reach(position(8)), ControlFlow::Break(()));
        assert_eq!((sum.get(), cursor.reached()), (8, 8));
    }
}
