//! Recorded events on their way into a state: which ones concern it, and in which order it saw them when they came.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bitacora_formats::{
    After, BodyError, Event, Micros, Position, Record, RecordError, StreamVersion, decode_body,
    decode_record, record_kind,
};
use bitacora_governance::Observed;

use crate::error::ReadError;
use crate::reader::Reader;
use crate::shared::Shared;

/// What recorded events are folded into.
pub trait Fold {
    /// Whether events of this type are shown to it.
    fn concerns(&self, kind: &str) -> bool;

    /// Folds the events of one frame that concern it, each behind its cause.
    fn fold(&mut self, frame: &[Observed<'_>]);

    /// All up to here is folded. It may have been enough.
    fn reached(&mut self, position: Position) -> ControlFlow<()>;
}

/// Why a frame cannot be folded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldError {
    #[error("its positions run out")]
    Positions,
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// An opened frame.
#[derive(Clone, Copy)]
pub(crate) struct RecordedFrame<'a> {
    pub(crate) first: Position,
    pub(crate) count: u32,
    pub(crate) time: Micros,
    pub(crate) body: &'a [u8],
}

/// Shows durable events from after `after` up to `until` to a fold, as long as it wants more.
pub(crate) fn fold(
    shared: &Shared,
    after: After,
    until: Position,
    into: &mut dyn Fold,
) -> Result<(), ReadError> {
    let mut reader = Reader::new(shared);
    let Some(first) = after.first_position().filter(|first| *first <= until) else { return Ok(()) };
    if until > reader.head.position {
        return Err(ReadError::PastHead { asked: until, head: reader.head.position });
    }
    let mut next = Some(reader.frame_with(first)?);
    while let Some(frame) = next {
        let header = &frame.place.header;
        let recorded = RecordedFrame {
            first: header.first_position,
            count: header.count,
            time: header.time,
            body: &frame.body,
        };
        let events = recorded
            .events(first, Some(until), |kind| into.concerns(kind))
            .map_err(|error| frame.segment.corrupt(frame.place.offset, Some(&frame.place), &error))?;
        if !events.is_empty() {
            into.fold(&recorded.observed(&events));
        }
        let last = header.last_position();
        if into.reached(last.min(until)).is_break() || last >= until {
            return Ok(());
        }
        next = reader.frame_after(&frame)?;
    }
    Ok(())
}

/// An event of a recorded frame.
pub(crate) struct RecordedEvent<'a> {
    position: Position,
    stream_version: StreamVersion,
    derived: bool,
    event: Event<'a>,
}

impl<'a> RecordedFrame<'a> {
    /// The events that concern the reactor and stand in this range, each behind its cause. Of what does not concern it no more
    /// than its type is read.
    pub(crate) fn events(
        &self,
        first: Position,
        until: Option<Position>,
        concerns: impl Fn(&str) -> bool,
    ) -> Result<Vec<RecordedEvent<'a>>, FoldError> {
        let body = decode_body(self.body, self.count)?;
        let mut position = Some(self.first);
        let mut events = Vec::new();
        for request in &body.requests {
            let mut placed = Vec::new();
            for (index, entry) in request.entries.iter().enumerate() {
                let here = position.ok_or(FoldError::Positions)?;
                position = here.next();
                if here < first
                    || until.is_some_and(|until| here > until)
                    || !concerns(record_kind(entry.record)?)
                {
                    continue;
                }
                placed.push(RecordedEvent {
                    position: here,
                    stream_version: entry.stream_version,
                    derived: index >= request.submitted as usize,
                    event: visible_event(decode_record(entry.record)?),
                });
            }
            events.extend(in_order_of_causes(placed));
        }
        Ok(events)
    }

    /// The same events, as a reactor takes them.
    pub(crate) fn observed<'e>(&self, events: &'e [RecordedEvent<'_>]) -> Vec<Observed<'e>> {
        let observe = |recorded: &'e RecordedEvent<'_>| Observed {
            position: recorded.position,
            stream_version: recorded.stream_version,
            time: self.time,
            derived: recorded.derived,
            event: &recorded.event,
            examination: None,
        };
        events.iter().map(observe).collect()
    }
}

/// The events of a request as the reactor saw them when they came: behind each one that was submitted, what it caused, and
/// what that caused in turn. In the log all derived events stand behind all submitted ones.
fn in_order_of_causes(placed: Vec<RecordedEvent<'_>>) -> Vec<RecordedEvent<'_>> {
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
