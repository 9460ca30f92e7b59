//! The fold of recorded events into a state: only events that concern it, in their original order.

use std::ops::ControlFlow;

use bitacora_formats::{
    BodyError, Event, Micros, Position, Record, RecordError, StreamVersion, decode_body, decode_record,
    record_kind,
};
use bitacora_governance::ObservedEvent;

/// A state that recorded events are folded into.
pub trait Fold {
    /// Returns `true` if events of this type are shown to it.
    fn concerns(&self, kind: &str) -> bool;

    /// Returns `true` if it looks at more of events of this type than their place and time. Of other events nothing else is shown.
    fn reads(&self, _kind: &str) -> bool {
        true
    }

    /// Returns `true` if it is shown whole requests, past the last position that was asked for: the events that one event caused may
    /// follow it.
    fn takes_whole_requests(&self) -> bool {
        false
    }

    /// Returns `true` if it passes over events whose content expired. A state that rests on every event refuses them, and begins behind
    /// them instead.
    fn skips_expired_content(&self) -> bool {
        true
    }

    /// An event of this type concerns it and was passed over: its content expired.
    fn skipped_expired_content(&mut self, _kind: &str) {}

    /// Folds the events of one frame that concern it, each behind its cause.
    fn fold(&mut self, frame: &[ObservedEvent<'_>]);

    /// All up to here is folded. It may have been enough.
    fn reached(&mut self, position: Position) -> ControlFlow<()>;
}

/// The reasons for which a frame cannot be folded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldError {
    #[error("its positions run out")]
    Positions,
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The content of an event that the state rests on expired.
    #[error("the content of the event at position {position} expired")]
    Expired { position: Position },
}

/// An opened frame.
#[derive(Clone, Copy)]
pub(crate) struct RecordedFrame<'a> {
    pub(crate) first: Position,
    pub(crate) count: u32,
    pub(crate) time: Micros,
    pub(crate) body: &'a [u8],
}

/// An event of a recorded frame.
pub(crate) struct RecordedEvent<'a> {
    position: Position,
    stream_version: StreamVersion,
    derived: bool,
    /// The position of the submitted event that caused this one, in one step or several; its own position if it was submitted itself.
    root: Position,
    event: Event<'a>,
}

impl<'a> RecordedFrame<'a> {
    /// The events that concern the reactor and stand in this range, as they lie in the log. Of what does not concern it no more
    /// than its type is read, nor of what `reads` answers `false` for. `passes` says of the type of one whose content expired whether it is
    /// passed over.
    pub(crate) fn events(
        &self,
        first: Position,
        until: Option<Position>,
        reads: impl Fn(&str) -> Option<bool>,
        mut passes: impl FnMut(&str) -> bool,
    ) -> Result<Vec<RecordedEvent<'a>>, FoldError> {
        let body = decode_body(self.body, self.count)?;
        let mut position = Some(self.first);
        let mut events = Vec::with_capacity(body.entries().count());
        let mut roots = Vec::new();
        for request in &body.requests {
            let begins = position.ok_or(FoldError::Positions)?;
            roots.clear();
            for (index, entry) in request.entries.iter().enumerate() {
                let here = position.ok_or(FoldError::Positions)?;
                position = here.next();
                if here < first || until.is_some_and(|until| here > until) {
                    roots.push(None);
                    continue;
                }
                let kind = record_kind(entry.record)?;
                let event = match reads(kind) {
                    None => {
                        roots.push(None);
                        continue;
                    }
                    Some(true) => {
                        let record = decode_record(entry.record)?;
                        if record.expired().is_some() {
                            if !passes(kind) {
                                return Err(FoldError::Expired { position: here });
                            }
                            roots.push(None);
                            continue;
                        }
                        visible_event(record)
                    }
                    Some(false) => Event::new("", "", kind, ""),
                };
                let derived = index >= request.submitted as usize;
                let cause = event.causationid.as_deref().filter(|_| derived);
                let root = cause.and_then(|cause| root_of(&roots, begins, cause)).unwrap_or(here);
                roots.push(Some(root));
                let stream_version = entry.stream_version;
                events.push(RecordedEvent { position: here, stream_version, derived, root, event });
            }
        }
        Ok(events)
    }

    /// The same events as a reactor takes them, and as it saw them when they came: behind each one that was submitted, what it
    /// caused, and what that caused in turn. In the log all derived events of a request stand behind all submitted ones.
    pub(crate) fn observed<'e>(&self, events: &'e [RecordedEvent<'_>]) -> Vec<ObservedEvent<'e>> {
        let mut ordered: Vec<_> = events.iter().collect();
        // Stable: what one event caused keeps its order. Most requests are of one event, and lie in this order already.
        if !ordered.is_sorted_by_key(|recorded| recorded.root) {
            ordered.sort_by_key(|recorded| recorded.root);
        }
        let observe = |recorded: &'e RecordedEvent<'_>| ObservedEvent {
            position: recorded.position,
            stream_version: recorded.stream_version,
            time: self.time,
            derived: recorded.derived,
            event: &recorded.event,
            examination: None,
        };
        ordered.into_iter().map(observe).collect()
    }
}

/// The root of the event that is named as a cause, if that is one of those before, the first of which stands at `begins`.
fn root_of(before: &[Option<Position>], begins: Position, cause: &str) -> Option<Position> {
    let cause = cause.parse::<Position>().ok()?;
    let index = usize::try_from(cause.get().checked_sub(begins.get())?).ok()?;
    *before.get(index)?
}

/// The event of a record without what is sealed under a subject's key, which no reactor may read.
pub(crate) fn visible_event(record: Record<'_>) -> Event<'_> {
    record.into_event(None)
}
