//! Folding a log into the state that decides, with a bar for who waits.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bitacora_formats::{After, Position};
use bitacora_governance::{Observed, ReactorState, State};
use bitacora_ledger::{Fold, Ledger};

use super::ReplayFailure;
use crate::progress::EventBar;

/// A state, and how it was come to.
pub(super) struct Folded {
    pub(super) position: Position,
    pub(super) state: State,
    /// Events that concerned it.
    pub(super) governing: u64,
    /// What all of it took, from the first event on.
    pub(super) took: Duration,
}

/// Ends a folding early.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to go on.
    pub(super) fn flow(&self) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The state as far as the log is folded.
pub(super) struct Folding {
    state: State,
    governing: u64,
    reached: u64,
    stop: Stop,
    bar: EventBar,
}

/// The states at these places, which rise.
pub(super) fn states(ledger: &Ledger, places: &[Position], stop: Stop) -> Result<Vec<Folded>, ReplayFailure> {
    let began = Instant::now();
    let bar = EventBar::new("replaying", places.last().map_or(0, |last| last.get()));
    let mut folding = Folding { state: State::default(), governing: 0, reached: 0, stop, bar };
    let mut folded = Vec::with_capacity(places.len());
    let mut after = After::START;
    for place in places {
        ledger.fold(after, *place, &mut folding)?;
        after = After::new(place.get());
        folded.push(Folded {
            position: *place,
            state: folding.state.clone(),
            governing: folding.governing,
            took: began.elapsed(),
        });
    }
    Ok(folded)
}

impl Fold for Folding {
    fn concerns(&self, kind: &str) -> bool {
        State::concerns(kind)
    }

    fn fold(&mut self, frame: &[Observed<'_>]) {
        self.governing += frame.len() as u64;
        self.state.fold(frame);
    }

    fn reached(&mut self, position: Position) -> ControlFlow<()> {
        self.bar.advance(position.get().saturating_sub(self.reached));
        self.reached = position.get();
        self.stop.flow()
    }
}
