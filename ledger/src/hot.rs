//! A reactor's state, fed with recorded frames.

use std::sync::Arc;

use bitacora_formats::Event;
use bitacora_governance::{Observed, Reactor, ReactorRefusal, ReactorState, RefusalCode};

use crate::fold::{FoldError, RecordedFrame};

/// A reactor's state that follows the log: the published one.
pub(crate) struct HotState {
    reactor: Arc<dyn Reactor>,
    state: Box<dyn ReactorState>,
    broken: bool,
}

impl HotState {
    pub(crate) fn new(reactor: &Arc<dyn Reactor>) -> Self {
        Self { reactor: Arc::clone(reactor), state: reactor.state(), broken: false }
    }

    /// The staged state, ahead of this one from here on; one that refuses every request if this one could not fold the log.
    pub(crate) fn fork(&self) -> Box<dyn ReactorState> {
        let fork = std::panic::AssertUnwindSafe(|| self.state.fork());
        match std::panic::catch_unwind(fork) {
            Ok(state) if !self.broken => state,
            _ => Box::new(BrokenReactor),
        }
    }

    /// Folds the events of a frame that concern the reactor, first to last. A panic of the reactor stops the state where it stands.
    pub(crate) fn fold_frame(&mut self, frame: &RecordedFrame<'_>) {
        if self.broken {
            return;
        }
        let fold = std::panic::AssertUnwindSafe(|| fold_body(&*self.reactor, &mut *self.state, frame));
        if !matches!(std::panic::catch_unwind(fold), Ok(Ok(()))) {
            self.broken = true;
            tracing::error!(
                position = frame.first.get(),
                "the reactor could not fold this frame; its state stands before it"
            );
        }
    }
}

fn fold_body(
    reactor: &dyn Reactor,
    state: &mut dyn ReactorState,
    frame: &RecordedFrame<'_>,
) -> Result<(), FoldError> {
    let events = frame.events(frame.first, None, |kind| reactor.concerns(kind))?;
    if !events.is_empty() {
        state.fold(&frame.observed(&events));
    }
    Ok(())
}

/// Stands in for a reactor whose state can no longer be trusted: it admits nothing.
pub(crate) struct BrokenReactor;

impl BrokenReactor {
    /// The refusal of every request.
    pub(crate) fn refusal() -> ReactorRefusal {
        ReactorRefusal::new(
            RefusalCode::Broken,
            "the reactor's state cannot be trusted any more; restart the service",
        )
    }
}

impl ReactorState for BrokenReactor {
    fn react(&mut self, _: &Observed<'_>) -> Result<Vec<Event<'static>>, ReactorRefusal> {
        Err(Self::refusal())
    }
    fn keep(&mut self) {}
    fn discard(&mut self) {}
    fn fork(&self) -> Box<dyn ReactorState> {
        Box::new(Self)
    }
    fn fold(&mut self, _: &[Observed<'_>]) {}
}
