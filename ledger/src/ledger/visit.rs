//! A visit of the log's records and commitments as they lie in their frames, without making events.

use bitacora_formats::{After, ChainHash, Micros, Position, Record, TreeHash};

use crate::ledger::Ledger;
use crate::limits::MAX_PIECE_STRETCH;
use crate::read::log_reader::LogReader;
use crate::read::proofs::root_after;
use crate::read_error::ReadError;
use crate::segments::recent_frames::OpenFrame;
use crate::shared_state::SharedState;

/// A durable record, borrowed from its opened frame. The content of a data subject's part is not in it.
#[derive(Debug)]
pub struct VisitedRecord<'a> {
    /// Its position in the ledger.
    pub position: Position,
    /// The time of its frame.
    pub time: Micros,
    /// The record.
    pub record: Record<'a>,
}

/// A durable frame by what commits to it: two ledgers that agree on one agree on every event up to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMark {
    /// The position of its first event.
    pub first: Position,
    /// The position of its last event.
    pub last: Position,
    /// The chain hash before it; `None` of a frame that lies in an archive.
    pub previous: Option<ChainHash>,
    /// The RFC 6962 root over all events up to its end.
    pub tree_root: TreeHash,
}

impl Ledger {
    /// Shows the durable records from after `after` up to `until`, in order, without making events of them. Blocks as
    /// [`Self::read`] does. Returned `Ok` ⇒ each of them was shown, once.
    ///
    /// # Errors
    /// As [`Self::read`], and where `until` is past the head; what was shown before stands.
    pub fn visit(
        &self,
        after: After,
        until: Position,
        visit: &mut dyn FnMut(&VisitedRecord<'_>),
    ) -> Result<(), ReadError> {
        records(self.shared(), after, until, visit)
    }

    /// Divides the events after `after` and up to `until` into at most `pieces` pieces of `events` events or somewhat more. Returns the
    /// last position of each. Readers that work side by side on the pieces open no frame twice. Blocks as [`Self::read`] does.
    #[must_use]
    pub fn divide(&self, after: After, until: Position, events: u64, pieces: usize) -> Vec<Position> {
        divide(self.shared(), after, until.min(self.head().position), events, pieces)
    }

    /// Returns the frame that holds a position. Blocks as [`Self::read`] does.
    ///
    /// # Errors
    /// [`ReadError::PastHead`] if nothing stands there yet, or as [`Self::read`].
    pub fn frame_of(&self, position: Position) -> Result<FrameMark, ReadError> {
        frame_of(self.shared(), position)
    }
}

/// Shows the records from after `after` up to `until` in order. Returned `Ok` ⇒ each of them was shown, once.
pub(crate) fn records(
    shared: &SharedState,
    after: After,
    until: Position,
    visit: &mut dyn FnMut(&VisitedRecord<'_>),
) -> Result<(), ReadError> {
    let mut reader = LogReader::new(shared);
    let Some(first) = after.first_position().filter(|first| *first <= until) else { return Ok(()) };
    if until > reader.head.position {
        return Err(shared.past_head(until, reader.head.position));
    }
    let (mut from, mut next) = (first, Some(reader.frame_with(first)?));
    while let Some(frame) = next {
        show(&reader, &frame, from, until, visit)?;
        let last = frame.place.header.last_position();
        let Some(behind) = last.next().filter(|_| last < until) else { break };
        (from, next) = (behind, reader.frame_after(&frame)?);
    }
    Ok(())
}

fn show(
    reader: &LogReader<'_>,
    frame: &OpenFrame,
    first: Position,
    until: Position,
    visit: &mut dyn FnMut(&VisitedRecord<'_>),
) -> Result<(), ReadError> {
    let time = frame.place.header.time;
    let mut position = Some(frame.place.header.first_position);
    for entry in reader.decode(frame)?.entries() {
        let Some(at) = position.filter(|at| *at <= until) else { break };
        if at >= first {
            let record = reader.record(frame, entry)?;
            visit(&VisitedRecord { position: at, time, record });
        }
        position = at.next();
    }
    Ok(())
}

/// Divides the events after `after` and up to `until`, which is durable, so that no frame is opened twice. Returns the ends of at most
/// `pieces` pieces. Each ends with the frame that makes it have `events` events, at [`MAX_PIECE_STRETCH`] times as many at the latest.
///
/// Frames are not opened for this, so the contents of their headers are not proven: every division is right, this one is fast. Readers of
/// the pieces find damage.
pub(crate) fn divide(
    shared: &SharedState,
    after: After,
    until: Position,
    events: u64,
    pieces: usize,
) -> Vec<Position> {
    let (mut ends, mut reached) = (Vec::new(), after.get());
    while reached < until.get() && ends.len() < pieces {
        let place =
            |further: u64| Position::new(reached.saturating_add(further)).map_or(until, |at| at.min(until));
        let (least, most) = (place(events.max(1)), place(events.max(1).saturating_mul(MAX_PIECE_STRETCH)));
        let segment = shared.read.segments.holding(least);
        let frame = segment.and_then(|segment| segment.find(least).ok().flatten());
        let end = frame.map_or(least, |frame| frame.header.last_position().clamp(least, most));
        ends.push(end);
        reached = end.get();
    }
    ends
}

/// The frame that holds `position`, opened, so that what it says of itself is authentic.
pub(crate) fn frame_of(shared: &SharedState, position: Position) -> Result<FrameMark, ReadError> {
    let mut reader = LogReader::new(shared);
    let frame = reader.frame_with(position)?;
    let header = &frame.place.header;
    Ok(FrameMark {
        first: header.first_position,
        last: header.last_position(),
        previous: header.links.map(|links| links.previous),
        tree_root: root_after(reader.shared(), &frame)?,
    })
}
