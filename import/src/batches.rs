//! The gathering of events into requests, one lane a stream.
//! Events of one stream keep their order, because a lane sends one request at a time.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bitacora_formats::limits::{MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS};

/// The number of requests in flight at once.
pub const LANES: usize = 4;

/// The place of an event in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLocation {
    /// The file's name.
    pub file: Arc<str>,
    /// The number of its line or element, from 1.
    pub number: u64,
}

/// One event on its way.
#[derive(Debug, Clone)]
pub struct Item {
    /// The place of its record.
    pub location: RecordLocation,
    /// Its id.
    pub id: String,
    /// The CloudEvent.
    pub json: Vec<u8>,
}

/// The events of one request.
#[derive(Debug, Default)]
pub struct EventBatch(pub Vec<Item>);

impl EventBatch {
    /// Returns the events as an array.
    pub fn body(&self) -> Vec<u8> {
        let bytes: usize = self.0.iter().map(|item| item.json.len() + 1).sum();
        let mut body = Vec::with_capacity(bytes + 1);
        for item in &self.0 {
            body.push(if body.is_empty() { b'[' } else { b',' });
            body.extend_from_slice(&item.json);
        }
        body.push(b']');
        body
    }
}

/// The largest size of an event: a request with it alone is still accepted.
pub(crate) const MAX_EVENT_BYTES: usize = MAX_REQUEST_BYTES - 2;

/// Gathers events for each lane.
pub(crate) struct BatchBuilder {
    lanes: Vec<OpenBatch>,
    size: usize,
}

#[derive(Default)]
struct OpenBatch {
    batch: EventBatch,
    /// The size of the array, its brackets included but for the last.
    bytes: usize,
    /// The source and id of each event: a request that names one twice is refused.
    identities: HashSet<(String, String)>,
}

impl BatchBuilder {
    /// Returns a builder of batches for requests of at most `size` events.
    pub(crate) fn new(size: usize) -> Self {
        let lanes = std::iter::repeat_with(OpenBatch::default).take(LANES).collect();
        Self { lanes, size: size.clamp(1, MAX_REQUEST_EVENTS) }
    }

    /// Takes an event in. Returns the lane's batch, to be sent, if the event does not fit beside it.
    pub(crate) fn push(&mut self, stream: &str, source: &str, item: Item) -> Option<(usize, EventBatch)> {
        let mut hasher = DefaultHasher::new();
        stream.hash(&mut hasher);
        let lane = usize::try_from(hasher.finish() % LANES as u64).unwrap_or_default();
        let gathering = self.lanes.get_mut(lane)?;
        let identity = (source.to_owned(), item.id.clone());
        let fits = gathering.batch.0.len() < self.size
            && gathering.bytes + item.json.len() + 2 <= MAX_REQUEST_BYTES
            && !gathering.identities.contains(&identity);
        let full = if fits { None } else { Some((lane, std::mem::take(gathering).batch)) };
        gathering.bytes += item.json.len() + 1;
        gathering.identities.insert(identity);
        gathering.batch.0.push(item);
        full.filter(|(_, batch)| !batch.0.is_empty())
    }

    /// Returns the remaining events, by lane.
    pub(crate) fn rest(&mut self) -> Vec<(usize, EventBatch)> {
        let taken = self.lanes.iter_mut().map(|gathering| std::mem::take(gathering).batch);
        taken.enumerate().filter(|(_, batch)| !batch.0.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, bytes: usize) -> Item {
        let location = RecordLocation { file: "f".into(), number: 1 };
        Item { location, id: id.to_owned(), json: vec![b'7'; bytes] }
    }

    #[test]
    fn a_request_is_within_its_limits_and_names_nothing_twice() {
        let mut batches = BatchBuilder::new(2);
        assert!(batches.push("s", "a", item("1", 1)).is_none());
        assert!(batches.push("s", "b", item("1", 1)).is_none());
        let (lane, full) = batches.push("s", "a", item("3", MAX_EVENT_BYTES)).unwrap();
        assert_eq!((full.0.len(), full.body()), (2, b"[7,7]".to_vec()));
        let (same, full) = batches.push("s", "a", item("4", 1)).unwrap();
        assert_eq!((same, full.body().len()), (lane, MAX_REQUEST_BYTES));
        assert_eq!(batches.push("s", "a", item("4", 1)).unwrap().1.0.len(), 1);
        assert_eq!(batches.rest().len(), 1);
        assert_eq!(batches.rest().len(), 0);
    }

    #[test]
    fn a_stream_stays_in_its_lane() {
        let mut batches = BatchBuilder::new(1);
        for stream in 0..100 {
            let stream = stream.to_string();
            let _before = batches.push(&stream, "a", item("1", 1));
            let (one, _) = batches.push(&stream, "a", item("2", 1)).unwrap();
            let (other, _) = batches.push(&stream, "a", item("3", 1)).unwrap();
            assert_eq!(one, other);
        }
    }
}
