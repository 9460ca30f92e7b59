//! A reactor's state, fed with recorded frames.

use bitacora_formats::{Event, Micros, Position, Record, decode_body, decode_record};

use crate::reactor::{BrokenReactor, Observed, ReactorState};

/// A reactor's state that follows the log: the durable copy, and the staged one while a ledger opens.
pub(crate) struct HotState {
    state: Box<dyn ReactorState>,
    broken: bool,
}

impl HotState {
    pub(crate) fn new(state: Box<dyn ReactorState>) -> Self {
        Self { state, broken: false }
    }

    /// The state, or one that refuses every request if it could not fold the log.
    pub(crate) fn into_state(self) -> Box<dyn ReactorState> {
        if self.broken { Box::new(BrokenReactor) } else { self.state }
    }

    /// Folds every event of a frame, first to last. A panic of the reactor stops the state where it stands.
    pub(crate) fn fold_frame(&mut self, first: Position, count: u32, time: Micros, body: &[u8]) {
        if self.broken {
            return;
        }
        let fold = std::panic::AssertUnwindSafe(|| fold_body(&mut *self.state, first, count, time, body));
        if !matches!(std::panic::catch_unwind(fold), Ok(Some(()))) {
            self.broken = true;
            tracing::error!(
                position = first.get(),
                "the reactor could not fold this frame; its state stands before it"
            );
        }
    }
}

fn fold_body(
    state: &mut dyn ReactorState,
    first: Position,
    count: u32,
    time: Micros,
    body: &[u8],
) -> Option<()> {
    let body = decode_body(body, count).ok()?;
    let mut position = Some(first);
    for request in &body.requests {
        for (index, entry) in request.entries.iter().enumerate() {
            let here = position?;
            let event = decode_record(entry.record).map(visible_event).ok()?;
            state.fold(&Observed {
                position: here,
                stream_version: entry.stream_version,
                time,
                derived: index >= request.submitted as usize,
                event: &event,
            });
            position = here.next();
        }
    }
    Some(())
}

/// The event of a record without what is sealed under a subject's key, which no reactor may read.
pub(crate) fn visible_event(record: Record<'_>) -> Event<'_> {
    record.into_event(None)
}
