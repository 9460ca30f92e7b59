//! One chunk on its way into the ledger.

use std::collections::HashSet;

use bitacora_formats::{BodyForm, Event, ParseErrorKind, parse_events};
use bitacora_governance::State;
use bitacora_ledger::{AppendError, AppendReceipt, AppendRequest, ErrorKind, Ledger, PendingAppend};

use super::lines::Chunk;
use crate::access::caller::Caller;
use crate::limits::INGEST_GOVERNED_LINES;
use crate::problem::Problem;

/// Lines that the ledger has, or that hold no event.
pub(super) struct SentLines {
    /// The numbers of the first and the last of them.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The number of lines before each event's, where some are empty.
    lines_before: Option<Vec<u32>>,
    pub(super) outcome: Outcome,
}

/// The state of lines that the ledger has.
pub(super) enum Outcome {
    /// They hold no event: there is nothing to wait for.
    Empty,
    /// Resolves once they are durable.
    Pending(PendingAppend),
    /// They were waited for.
    Durable(AppendReceipt),
}

impl SentLines {
    /// The line that an append failed for: its first one, where no single event is at fault.
    pub(super) fn line_of(&self, error: &AppendError) -> u64 {
        let Some(event) = refused_event(error) else { return self.first };
        let before = match &self.lines_before {
            None => event as u64,
            Some(lines) => lines.get(event).copied().unwrap_or_default().into(),
        };
        self.first + before
    }
}

/// The result of submitting a chunk.
pub(super) struct Submission {
    pub(super) sent: Vec<SentLines>,
    pub(super) rest: ChunkRest,
}

/// The rest of the chunk.
pub(super) enum ChunkRest {
    Nothing,
    /// The ledger's queue is full: to be sent again.
    Busy(Chunk),
    /// The first of the lines left is refused.
    Refused(Problem),
}

/// Sends a chunk, in order, in as few appends as it takes. Blocks while it parses and encodes.
pub(super) fn submit(caller: &Caller, ledger: &Ledger, stream: Option<&str>, chunk: &Chunk) -> Submission {
    let mut sent = Vec::new();
    // The rest of the chunk, the first lines last. A part that is refused for a line within it is divided before that line.
    let mut left = vec![chunk.clone()];
    while let Some(part) = left.pop() {
        match send(caller, ledger, stream, &part) {
            SendOutcome::Sent(outcome, events) => {
                let lines_before = (events as u64 != part.count).then(|| part.lines_before_events());
                sent.push(SentLines { first: part.first, last: part.last(), lines_before, outcome });
            }
            SendOutcome::Busy => {
                let (_, rest) = chunk.split(part.first - chunk.first);
                return Submission { sent, rest: ChunkRest::Busy(rest) };
            }
            SendOutcome::Refused(0, problem) => {
                return Submission { sent, rest: ChunkRest::Refused(problem.at_line(part.first)) };
            }
            SendOutcome::Refused(lines, _) => {
                let (first, rest) = part.split(lines);
                left.extend([rest, first]);
            }
            SendOutcome::Divided(lines) => left.extend(part.cut(&lines).into_iter().rev()),
        }
    }
    Submission { sent, rest: ChunkRest::Nothing }
}

enum SendOutcome {
    /// With how many events.
    Sent(Outcome, usize),
    Busy,
    /// The chunk is divided: the lines behind each of these numbers make a request of their own. Either the identity of their first event
    /// stands before it, or the whole is too much at once.
    Divided(Vec<u64>),
    /// The event behind so many lines is refused.
    Refused(u64, Problem),
}

fn send(caller: &Caller, ledger: &Ledger, stream: Option<&str>, chunk: &Chunk) -> SendOutcome {
    let mut events = match parse_events(&chunk.bytes, BodyForm::Ndjson, stream) {
        Ok(events) => events,
        Err(error) if error.kind == ParseErrorKind::EmptyBatch => {
            return SendOutcome::Sent(Outcome::Empty, 0);
        }
        Err(error) => {
            let before = error.line.map_or(0, |line| line as u64 - 1);
            return SendOutcome::Refused(before, error.into());
        }
    };
    if let Err(refused) = caller.sign(&mut events) {
        return SendOutcome::Refused(chunk.lines_before_event(refused.index), refused.into());
    }
    let repetitions = repetitions(&events);
    if !repetitions.is_empty() {
        let lines = chunk.lines_before_events();
        let before = |index: usize| lines.get(index).map(|lines| u64::from(*lines));
        return SendOutcome::Divided(repetitions.into_iter().filter_map(before).collect());
    }
    let count = events.len();
    let is_governed =
        ledger.governance().is_some() && events.iter().any(|event| State::concerns(&event.kind));
    // Events follow from its own, and from so many more than may follow from one request.
    if is_governed && count > INGEST_GOVERNED_LINES {
        return SendOutcome::Divided(chunk.cuts(INGEST_GOVERNED_LINES));
    }
    let outcome = ledger.append(AppendRequest::of(events)).and_then(|pending| {
        // The events that follow from its own are known once the ledger has placed them. Nothing may have been sent behind them by then:
        // they may have to be divided, and keep their order.
        if is_governed { pending.wait().map(Outcome::Durable) } else { Ok(Outcome::Pending(pending)) }
    });
    match outcome {
        Ok(outcome) => SendOutcome::Sent(outcome, count),
        Err(AppendError::QueueFull { .. }) => SendOutcome::Busy,
        Err(error) if count > 1 && may_pass_in_parts(&error) => {
            SendOutcome::Divided(vec![chunk.lines_before_event(count / 2)])
        }
        Err(error) => {
            let before = refused_event(&error).map_or(0, |index| chunk.lines_before_event(index));
            SendOutcome::Refused(before, error.into())
        }
    }
}

/// Returns `true` if some of several lines may pass without the others. Either there was too much at once, or the state refuses one of
/// them, which is found that way. Or one was looked at before those that it rests on were there.
fn may_pass_in_parts(error: &AppendError) -> bool {
    match error {
        AppendError::TooLarge { .. } => true,
        AppendError::Reactor { .. } => error.kind() != ErrorKind::Stop,
        _ => false,
    }
}

/// The event that an append is refused for, if it is one.
fn refused_event(error: &AppendError) -> Option<usize> {
    match error {
        AppendError::Invalid { index, .. }
        | AppendError::Schema { index, .. }
        | AppendError::Unencodable { index, .. }
        | AppendError::ReservedType { index, .. }
        | AppendError::IdReused { index, .. }
        | AppendError::RepeatedId { index, .. } => Some(*index),
        _ => None,
    }
}

/// The events with the identity of one before them, since the last such one: each begins a request of its own. In one request they would be
/// errors; in an upload they are repetitions like any other, at any end of a chunk. All are found at once, so that lines that repeat each
/// other are not parsed again and again.
fn repetitions(events: &[Event<'_>]) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(events.len());
    let mut found = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let identity = (&*event.source, &*event.id);
        if !seen.insert(identity) {
            found.push(index);
            seen.clear();
            seen.insert(identity);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repetition_begins_a_request_and_all_are_found_in_one_pass() {
        let events = |ids: &[&str]| -> Vec<Event<'static>> {
            ids.iter().map(|id| Event::new((*id).to_owned(), "urn:test", "x.noted", "s")).collect()
        };
        assert_eq!(repetitions(&events(&["a", "b", "c"])), Vec::<usize>::new());
        assert_eq!(repetitions(&events(&["a", "a", "a"])), [1, 2]);
        assert_eq!(repetitions(&events(&["a", "b", "a", "b", "c", "a"])), [2, 5]);
    }
}
