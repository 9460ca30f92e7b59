//! The tail of a ledger: its newest events, written as messages once for all followers at its end.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use bitacora_formats::{After, Data, LedgerId};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{Filter, Ledger, ReadError, ReadFrom, ReadQuery, StoredEvent};
use tokio::sync::watch;

use crate::event_stream::messages::chunks;
use crate::limits::{TAIL_EVENT_BYTES, TAIL_PACE_PER_FOLLOWER, TAIL_REST, TAIL_RING_BYTES};

/// The tails that somebody follows, by ledger.
#[derive(Default)]
pub(crate) struct Tails(Mutex<HashMap<LedgerId, Weak<Tail>>>);

/// The end of one ledger. Kept up to date by a task of its own for as long as anybody holds it.
pub(crate) struct Tail {
    ring: Mutex<Ring>,
    /// Everything up to here was put into the ring.
    reached: watch::Sender<After>,
    /// Its end is what ends the task.
    _followed: watch::Sender<()>,
}

/// The newest batches, without a gap between them, up to the position that was reached.
#[derive(Default)]
struct Ring {
    batches: VecDeque<Arc<TailBatch>>,
    bytes: usize,
    /// The number of times that it was emptied because of an erasure.
    emptied: u64,
}

/// Events that follow each other, as messages.
pub(crate) struct TailBatch {
    after: After,
    last: After,
    bytes: Bytes,
    events: Vec<TailEvent>,
}

struct TailEvent {
    /// The end of its message.
    end: usize,
    /// Without its data: it is only asked whether it matches.
    stored: StoredEvent<'static>,
}

/// The tail's answer to a follower that has seen everything up to a position.
pub(crate) enum TailLookup {
    /// The next events.
    Batch(Arc<TailBatch>),
    /// Nothing yet.
    Edge,
    /// The next events are no longer here: they are in the log.
    Behind,
}

impl Tails {
    /// The ledger's tail, which begins at the head if nobody follows there yet.
    pub(crate) fn of(&self, ledger: &Ledger) -> Arc<Tail> {
        let mut tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = tails.get(&ledger.id()).and_then(Weak::upgrade) {
            return tail;
        }
        tails.retain(|_, tail| tail.strong_count() > 0);
        let (followed, unfollowed) = watch::channel(());
        let reached = watch::Sender::new(ledger.head().position.into());
        let tail = Arc::new(Tail { ring: Mutex::default(), reached, _followed: followed });
        tails.insert(ledger.id(), Arc::downgrade(&tail));
        tokio::spawn(keep_up(Arc::downgrade(&tail), ledger.clone(), unfollowed));
        tail
    }
}

impl Tails {
    /// Drops what is held of a ledger's events: some of it may be erased. Followers read the log instead.
    pub(crate) fn forget(&self, ledger: LedgerId) {
        let tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = tails.get(&ledger).and_then(Weak::upgrade) {
            tail.forget();
        }
    }
}

/// Puts into the ring what becomes durable, until nobody follows.
async fn keep_up(tail: Weak<Tail>, ledger: Ledger, mut unfollowed: watch::Receiver<()>) {
    let mut heads = ledger.watch_head();
    loop {
        let head: After = heads.borrow_and_update().position.into();
        let Some(held) = tail.upgrade() else { return };
        let (reached, followers) = (*held.reached.borrow(), held.reached.receiver_count());
        let emptied = held.emptied();
        drop(held);
        if reached >= head {
            tokio::select! {
                changed = heads.changed() => if changed.is_err() { return },
                _ = unfollowed.changed() => return,
            }
            continue;
        }
        let reader = ledger.clone();
        let read = tokio::task::spawn_blocking(move || read_batches(&reader, reached)).await;
        let Some(held) = tail.upgrade() else { return };
        match read {
            Ok(Ok((batches, reached))) => held.put(batches, reached, emptied),
            // Every follower reads the log instead, and hears there of the fault.
            Ok(Err(_)) | Err(_) => held.skip_to(head),
        }
        drop(held);
        // Waking many for every frame would take the processor from the writers.
        tokio::time::sleep(pace(followers)).await;
    }
}

fn pace(followers: usize) -> Duration {
    TAIL_PACE_PER_FOLLOWER.saturating_mul(u32::try_from(followers).unwrap_or(u32::MAX)).max(TAIL_REST)
}

fn read_batches(ledger: &Ledger, after: After) -> Result<(Vec<TailBatch>, After), ReadError> {
    let query = ReadQuery {
        from: ReadFrom::After(after),
        until: None,
        limit: MAX_PAGE_EVENTS,
        filter: Filter::default(),
    };
    Ok(batches(ledger.read(&query)?.events, after))
}

/// The events that follow a position, written as messages, and the position of the last of them.
fn batches(events: Vec<StoredEvent<'static>>, after: After) -> (Vec<TailBatch>, After) {
    let chunks = chunks(&events);
    let mut events = events.into_iter();
    let mut reached = after;
    let batches = chunks.into_iter().map(|chunk| {
        let ends = chunk.ends.iter();
        let events = ends.zip(events.by_ref()).map(|(end, mut stored)| {
            stored.event.data = Data::None;
            TailEvent { end: *end, stored }
        });
        let events = events.collect();
        let batch = TailBatch { after: reached, last: chunk.last.into(), bytes: chunk.bytes.into(), events };
        reached = batch.last;
        batch
    });
    let batches = batches.collect();
    (batches, reached)
}

impl Tail {
    pub(crate) fn reached(&self) -> After {
        *self.reached.borrow()
    }

    /// Tells of every further position that was reached.
    pub(crate) fn watch(&self) -> watch::Receiver<After> {
        self.reached.subscribe()
    }

    /// Finds the events after a position.
    pub(crate) fn find(&self, after: After) -> TailLookup {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if after >= *self.reached.borrow() {
            return TailLookup::Edge;
        }
        let next = ring.batches.partition_point(|batch| batch.last <= after);
        match ring.batches.get(next).filter(|batch| batch.after <= after) {
            Some(batch) => TailLookup::Batch(Arc::clone(batch)),
            None => TailLookup::Behind,
        }
    }

    fn emptied(&self) -> u64 {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).emptied
    }

    fn forget(&self) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        *ring = Ring { emptied: ring.emptied + 1, ..Ring::default() };
    }

    /// Adds what was read while the ring had been emptied this often. What was read before an erasure is not added.
    fn put(&self, batches: Vec<TailBatch>, reached: After, emptied: u64) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let batches = if ring.emptied == emptied { batches } else { Vec::new() };
        for batch in batches {
            ring.bytes += batch.size();
            ring.batches.push_back(Arc::new(batch));
        }
        while ring.bytes > TAIL_RING_BYTES {
            let Some(oldest) = ring.batches.pop_front() else { break };
            ring.bytes -= oldest.size();
        }
        drop(ring);
        self.reached.send_replace(reached);
    }

    fn skip_to(&self, reached: After) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        *ring = Ring { emptied: ring.emptied, ..Ring::default() };
        drop(ring);
        self.reached.send_replace(reached);
    }
}

impl TailBatch {
    pub(crate) fn last(&self) -> After {
        self.last
    }

    fn size(&self) -> usize {
        self.bytes.len() + TAIL_EVENT_BYTES * self.events.len()
    }

    /// The messages of events past the position that the filter lets through, and the position of the last of them.
    pub(crate) fn messages(&self, after: After, filter: &Filter) -> Option<(Bytes, After)> {
        if filter.is_empty() {
            let seen = self.events.iter().take_while(|event| After::from(event.stored.position) <= after);
            let start = seen.last().map_or(0, |event| event.end);
            return (start < self.bytes.len()).then(|| (self.bytes.slice(start..), self.last));
        }
        let (mut matching, mut last, mut start) = (Vec::new(), None, 0);
        for event in &self.events {
            let position = After::from(event.stored.position);
            if position > after && filter.matches(&event.stored) {
                matching.extend_from_slice(self.bytes.get(start..event.end).unwrap_or_default());
                last = Some(position);
            }
            start = event.end;
        }
        last.map(|last| (matching.into(), last))
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{Commitment, Event, Json, Micros, Position, StreamVersion};

    use super::*;

    /// An event with data of this many bytes.
    fn event(position: u64, data_bytes: usize) -> StoredEvent<'static> {
        let stream = format!("s{}", position % 2);
        let mut event = Event::new(format!("e{position}"), "urn:test", "x.noted", stream);
        event.data = Data::Json(Json::check(format!("\"{}\"", "x".repeat(data_bytes)).into_bytes()).unwrap());
        StoredEvent {
            position: Position::new(position).unwrap(),
            stream_version: StreamVersion::new(1).unwrap(),
            time: Micros(1),
            commitment: Commitment([0; 32]),
            derived: false,
            redactions: 0,
            erased: false,
            erased_by: None,
            expired_by: None,
            unreadable: false,
            event,
        }
    }

    fn tail(positions: std::ops::RangeInclusive<u64>, data_bytes: usize) -> Tail {
        let after = After::new(positions.start() - 1);
        let reached = watch::Sender::new(after);
        let tail = Tail { ring: Mutex::default(), reached, _followed: watch::channel(()).0 };
        let (batches, reached) =
            batches(positions.map(|position| event(position, data_bytes)).collect(), after);
        tail.put(batches, reached, 0);
        tail
    }

    /// The ids of everything past a position, or `None` where it is in the log.
    fn ids(tail: &Tail, after: u64, filter: &Filter) -> Option<Vec<u64>> {
        let (mut seen, mut ids) = (After::new(after), Vec::new());
        loop {
            match tail.find(seen) {
                TailLookup::Behind => return None,
                TailLookup::Edge => return Some(ids),
                TailLookup::Batch(batch) => {
                    if let Some((bytes, last)) = batch.messages(seen, filter) {
                        let text = String::from_utf8(bytes.to_vec()).unwrap();
                        let found = text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok());
                        ids.extend(found.collect::<Vec<u64>>());
                        assert_eq!(ids.last(), Some(&last.get()));
                    }
                    seen = batch.last();
                }
            }
        }
    }

    #[test]
    fn whoever_joins_anywhere_hears_the_rest_once() {
        let tail = tail(5..=400, 500);
        assert!(tail.ring.lock().unwrap().batches.len() > 2);
        let stream = Filter { stream: Some("s0".to_owned()), ..Filter::default() };
        for after in 4..=401 {
            let rest: Vec<u64> = (after + 1..=400).collect();
            let even: Vec<u64> = rest.iter().copied().filter(|position| position % 2 == 0).collect();
            assert_eq!(ids(&tail, after, &Filter::default()), Some(rest), "after {after}");
            assert_eq!(ids(&tail, after, &stream), Some(even), "after {after}");
        }
        assert_eq!(ids(&tail, 3, &stream), None, "it begins later");
    }

    #[test]
    fn the_oldest_make_room_and_are_found_in_the_log_instead() {
        let tail = tail(1..=200, 60_000);
        let ring = tail.ring.lock().unwrap();
        assert!(ring.bytes <= TAIL_RING_BYTES && ring.bytes > TAIL_RING_BYTES / 2);
        let oldest = ring.batches.front().unwrap().after.get();
        drop(ring);
        assert!(oldest > 0);
        assert_eq!(ids(&tail, oldest - 1, &Filter::default()), None);
        assert_eq!(ids(&tail, oldest, &Filter::default()).map(|ids| ids.len() as u64), Some(200 - oldest));
        tail.skip_to(After::new(300));
        assert_eq!(ids(&tail, 250, &Filter::default()), None);
        assert_eq!(ids(&tail, 300, &Filter::default()), Some(Vec::new()));
    }
}
