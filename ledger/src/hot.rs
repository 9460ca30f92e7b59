//! A reactor's state, fed with recorded frames.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitacora_formats::{Event, Micros, Position, Record, StreamVersion, decode_body, decode_record};

use bitacora_governance::{Observed, Reactor, ReactorRefusal, ReactorState, RefusalCode};

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
    pub(crate) fn fold_frame(&mut self, first: Position, count: u32, time: Micros, body: &[u8]) {
        if self.broken {
            return;
        }
        let fold = std::panic::AssertUnwindSafe(|| {
            fold_body(&*self.reactor, &mut *self.state, first, count, time, body)
        });
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
    reactor: &dyn Reactor,
    state: &mut dyn ReactorState,
    first: Position,
    count: u32,
    time: Micros,
    body: &[u8],
) -> Option<()> {
    let body = decode_body(body, count).ok()?;
    let mut position = Some(first);
    let mut frame = Vec::new();
    for request in &body.requests {
        let mut placed = Vec::with_capacity(request.entries.len());
        for (index, entry) in request.entries.iter().enumerate() {
            let here = position?;
            position = here.next();
            let record = decode_record(entry.record).ok()?;
            if reactor.concerns(&record.kind) {
                let event = visible_event(record);
                placed.push(Recorded {
                    position: here,
                    stream_version: entry.stream_version,
                    derived: index >= request.submitted as usize,
                    event,
                });
            }
        }
        frame.extend(in_order_of_causes(placed));
    }
    if !frame.is_empty() {
        let observed: Vec<_> = frame.iter().map(|recorded| recorded.observed(time)).collect();
        state.fold(&observed);
    }
    Some(())
}

/// An event of a recorded request.
struct Recorded<'a> {
    position: Position,
    stream_version: StreamVersion,
    derived: bool,
    event: Event<'a>,
}

impl Recorded<'_> {
    fn observed(&self, time: Micros) -> Observed<'_> {
        Observed {
            position: self.position,
            stream_version: self.stream_version,
            time,
            derived: self.derived,
            event: &self.event,
            examination: None,
        }
    }
}

/// The events of a request as the reactor saw them when they came: behind each one that was submitted, what it caused, and
/// what that caused in turn. In the log all derived events stand behind all submitted ones.
fn in_order_of_causes(placed: Vec<Recorded<'_>>) -> Vec<Recorded<'_>> {
    if !placed.iter().any(|recorded| recorded.derived) {
        return placed;
    }
    let mut roots = BTreeMap::new();
    let mut ordered: Vec<_> = placed
        .into_iter()
        .map(|recorded| {
            let cause =
                recorded.event.causationid.as_deref().and_then(|cause| cause.parse::<Position>().ok());
            let root = match cause {
                Some(cause) if recorded.derived => roots.get(&cause).copied().unwrap_or(recorded.position),
                _ => recorded.position,
            };
            roots.insert(recorded.position, root);
            (root, recorded)
        })
        .collect();
    // Stable: what one event caused keeps its order.
    ordered.sort_by_key(|(root, _)| *root);
    ordered.into_iter().map(|(_, recorded)| recorded).collect()
}

/// The event of a record without what is sealed under a subject's key, which no reactor may read.
pub(crate) fn visible_event(record: Record<'_>) -> Event<'_> {
    record.into_event(None)
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
