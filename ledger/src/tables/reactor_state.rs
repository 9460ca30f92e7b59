//! A reactor's state, fed with recorded frames.

use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bitacora_formats::Position;
use bitacora_governance::{DerivedEvent, ObservedEvent, Reactor, ReactorRefusal, ReactorState, RefusalCode};

use crate::tables::fold::{Fold, FoldError, RecordedFrame};

/// A reactor's state that follows the log: the published one.
pub(crate) struct ReactorProjection {
    reactor: Arc<dyn Reactor>,
    state: Box<dyn ReactorState>,
    broken: bool,
}

impl ReactorProjection {
    pub(crate) fn new(reactor: &Arc<dyn Reactor>) -> Self {
        Self { reactor: Arc::clone(reactor), state: reactor.state(), broken: false }
    }

    /// One that is folded beside the published one, and that nobody else sees.
    pub(crate) fn apart(reactor: &Arc<dyn Reactor>) -> Self {
        Self { reactor: Arc::clone(reactor), state: reactor.apart(), broken: false }
    }

    /// The staged state, ahead of this one from here on; one that refuses every request if this one could not fold the log.
    pub(crate) fn fork(&self) -> Box<dyn ReactorState> {
        match catch_unwind(AssertUnwindSafe(|| self.state.fork())) {
            Ok(state) if !self.broken => state,
            _ => Box::new(BrokenReactor),
        }
    }

    /// A copy to be saved, as the state stands now.
    pub(crate) fn to_save(&self) -> SavedState {
        SavedState(self.fork())
    }

    /// Becomes what was saved after the event at `position`; as it was where it cannot.
    pub(crate) fn restore(&mut self, position: Position, saved: &[u8]) -> Result<(), String> {
        let restore = AssertUnwindSafe(|| self.state.restore(position, saved));
        catch_unwind(restore).unwrap_or_else(|_| Err("the reactor panicked".to_owned()))
    }

    /// Returns `true` if the reactor has failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Folds the events of a frame that concern the reactor, first to last. A panic of the reactor stops the state where it stands.
    pub(crate) fn fold_frame(&mut self, frame: &RecordedFrame<'_>) {
        let fold = |this: &mut Self| fold_body(&*this.reactor, &mut *this.state, frame);
        self.guarded(frame.first, fold);
    }

    fn guarded(&mut self, first: Position, fold: impl FnOnce(&mut Self) -> Result<(), FoldError>) {
        if self.broken {
            return;
        }
        let folded = catch_unwind(AssertUnwindSafe(|| fold(self)));
        let what = match folded {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the reactor panicked".to_owned(),
        };
        self.broken = true;
        let position = first.get();
        tracing::error!(position, what, "the reactor could not fold this frame; its state stands before it");
    }
}

impl Fold for ReactorProjection {
    fn concerns(&self, kind: &str) -> bool {
        self.reactor.concerns(kind)
    }

    fn reads(&self, kind: &str) -> bool {
        self.reactor.reads(kind)
    }

    fn skips_expired_content(&self) -> bool {
        false
    }

    fn fold(&mut self, frame: &[ObservedEvent<'_>]) {
        let Some(first) = frame.first().map(|observed| observed.position) else { return };
        self.guarded(first, |this| {
            this.state.fold(frame);
            Ok(())
        });
    }

    fn reached(&mut self, _: Position) -> ControlFlow<()> {
        if self.broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A copy of a state that is on its way to the disk.
pub(crate) struct SavedState(Box<dyn ReactorState>);

impl SavedState {
    /// Its bytes; `None` where the reactor keeps no snapshots.
    pub(crate) fn write(&self) -> io::Result<Option<Vec<u8>>> {
        let saved = catch_unwind(AssertUnwindSafe(|| self.0.save()));
        saved.unwrap_or_else(|_| Err("the reactor panicked".to_owned())).map_err(io::Error::other)
    }
}

fn fold_body(
    reactor: &dyn Reactor,
    state: &mut dyn ReactorState,
    frame: &RecordedFrame<'_>,
) -> Result<(), FoldError> {
    let events = frame.events(
        frame.first,
        None,
        |kind| reactor.concerns(kind).then(|| reactor.reads(kind)),
        |_| false,
    )?;
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
    fn react(&mut self, _: &ObservedEvent<'_>) -> Result<Vec<DerivedEvent>, ReactorRefusal> {
        Err(Self::refusal())
    }
    fn keep(&mut self) {}
    fn discard(&mut self) {}
    fn fork(&self) -> Box<dyn ReactorState> {
        Box::new(Self)
    }
    fn fold(&mut self, _: &[ObservedEvent<'_>]) {}
}
