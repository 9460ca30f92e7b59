//! The fold of the durable log into a state, from its beginning or from a state that archives keep.

use bitacora_formats::{After, Position};

use crate::read::log_reader::LogReader;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;
use crate::tables::fold::{Fold, FoldError, RecordedFrame};
use crate::tables::reactor_state::ReactorProjection;

/// Shows durable events from after `after` up to `until` to a fold, as long as it wants more.
pub(crate) fn fold(
    shared: &SharedState,
    after: After,
    until: Position,
    into: &mut dyn Fold,
) -> Result<(), ReadError> {
    let mut reader = LogReader::new(shared);
    let Some(first) = after.first_position().filter(|first| *first <= until) else { return Ok(()) };
    if until > reader.head.position {
        return Err(shared.past_head(until, reader.head.position));
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
        let until_there = Some(until).filter(|_| !into.takes_whole_requests());
        let reads = |kind: &str| into.concerns(kind).then(|| into.reads(kind));
        let skips_expired_content = into.skips_expired_content();
        let mut passed = Vec::new();
        let passes = |kind: &str| {
            passed.extend(skips_expired_content.then(|| kind.to_owned()));
            skips_expired_content
        };
        let events = recorded.events(first, until_there, reads, passes).map_err(|error| match error {
            FoldError::Expired { position } => ReadError::Expired { position },
            error => frame.segment.corrupt(frame.place.offset, Some(&frame.place), &error),
        })?;
        passed.iter().for_each(|kind| into.skipped_expired_content(kind));
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

/// Folds what is durable after `after`.
pub(crate) fn fold_to_head(shared: &SharedState, after: After, into: &mut dyn Fold) -> Result<(), ReadError> {
    fold(shared, after, shared.read.head().position, into)
}

/// Puts the newest state that archives keep into `projection`; after which event the log is still to be folded. Where they give none, all
/// of it is, archives included, and what stands against that is heard of then.
pub(crate) fn begin_in_archives(
    shared: &SharedState,
    projection: &mut ReactorProjection,
    reactor: u32,
) -> After {
    let head = shared.read.head().position;
    let state = shared.read.tier.state(head, &(reactor..=reactor)).unwrap_or_else(|error| {
        tracing::warn!(%error, "the state that archives keep cannot be read; events are folded instead");
        None
    });
    let Some(state) = state else { return After::START };
    match projection.restore(state.position, &state.bytes) {
        Ok(()) => After::new(state.position.get()),
        Err(what) => {
            tracing::warn!(%what, "the state that archives keep cannot be used; events are folded instead");
            After::START
        }
    }
}
