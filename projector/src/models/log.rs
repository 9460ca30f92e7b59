//! The log as answers read it: single events, the last of them kept in memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_formats::{Data, Micros, Position};
use bitacora_ledger::{Ledger, ReadError, StoredEvent};

use super::question::Question;
use crate::limits::{KEPT_DATA_BYTES, KEPT_DATUM_BYTES};

/// Bytes that a cached event takes beside its data, about.
const LOGGED_BYTES: usize = 256;

/// An event, for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogData {
    /// One with data.
    Event(Arc<LogEvent>),
    /// It was sealed under the key of a data subject, which is gone.
    Erased,
    /// It has none.
    None,
}

/// The part of an event that answers need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogEvent {
    /// The time of its frame.
    pub(crate) time: Micros,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) run: Option<String>,
    /// JSON or bytes.
    pub(crate) data: Box<[u8]>,
}

/// Reads events, each of which never changes.
pub(crate) struct Log {
    ledger: Ledger,
    cache: Arc<Mutex<EventCache>>,
    question: Arc<Question>,
}

/// Those that were asked for lately: at most [`KEPT_DATA_BYTES`], in two halves of which the older one is let go.
#[derive(Default)]
struct EventCache {
    newer: HashMap<Position, Arc<LogEvent>>,
    older: HashMap<Position, Arc<LogEvent>>,
    newer_bytes: usize,
}

impl Log {
    pub(crate) fn new(ledger: Ledger, question: &Arc<Question>) -> Self {
        Self { ledger, cache: Arc::default(), question: Arc::clone(question) }
    }

    /// The same log, which tells this question of what it reads.
    pub(crate) fn for_question(&self, question: &Arc<Question>) -> Self {
        let (ledger, cache) = (self.ledger.clone(), Arc::clone(&self.cache));
        Self { ledger, cache, question: Arc::clone(question) }
    }

    /// The event at a position. Blocks on the disk, where it is not in memory.
    pub(crate) fn data(&self, position: Position) -> Result<LogData, ReadError> {
        if let Some(event) = self.cache().get(position) {
            return Ok(LogData::Event(event));
        }
        let stored = self.event(position)?;
        if stored.erased {
            return Ok(LogData::Erased);
        }
        let event = stored.event;
        let data: Box<[u8]> = match &event.data {
            Data::Json(json) => json.as_bytes().into(),
            Data::Binary(bytes) => bytes.as_ref().into(),
            Data::None => return Ok(LogData::None),
        };
        let text = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        let (agent, session, run) = (text(event.agent), text(event.session), text(event.run));
        let logged = Arc::new(LogEvent { time: stored.time, agent, session, run, data });
        // Events that may be erased are not remembered: they would be told after their end.
        if event.datasubject.is_none() && logged.data.len() <= KEPT_DATUM_BYTES {
            self.cache().put(position, Arc::clone(&logged));
        }
        Ok(LogData::Event(logged))
    }

    /// Forgets the events in memory: content of them may have expired.
    pub(crate) fn forget(&self) {
        *self.cache() = EventCache::default();
    }

    /// The event at a position. Blocks on the disk.
    pub(crate) fn event(&self, position: Position) -> Result<StoredEvent<'static>, ReadError> {
        if self.ledger.released_through() >= Some(position) {
            self.question.read_cold();
        }
        self.ledger.event(position)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, EventCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogEvent {
    /// Returns the bytes that it takes in memory, about.
    fn weight(&self) -> usize {
        LOGGED_BYTES + self.data.len()
    }
}

impl EventCache {
    fn get(&mut self, position: Position) -> Option<Arc<LogEvent>> {
        if let Some(event) = self.newer.get(&position) {
            return Some(Arc::clone(event));
        }
        let event = self.older.remove(&position)?;
        self.put(position, Arc::clone(&event));
        Some(event)
    }

    fn put(&mut self, position: Position, event: Arc<LogEvent>) {
        if self.newer_bytes + event.weight() > KEPT_DATA_BYTES / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.newer_bytes = 0;
        }
        self.newer_bytes += event.weight();
        if let Some(before) = self.newer.insert(position, event) {
            self.newer_bytes -= before.weight();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(position: u64) -> Position {
        Position::new(position).unwrap()
    }

    #[test]
    fn what_is_asked_for_stays_and_the_bound_holds() {
        let mut cache = EventCache::default();
        let data = vec![1; KEPT_DATUM_BYTES - LOGGED_BYTES].into();
        let logged = LogEvent { time: Micros(1), agent: None, session: None, run: None, data };
        let datum = Arc::new(logged);
        for position in 1..=100 {
            cache.put(at(position), Arc::clone(&datum));
            assert_eq!(cache.get(at(1)).as_deref(), Some(&*datum), "{position}");
            let bytes: usize =
                cache.newer.values().chain(cache.older.values()).map(|event| event.weight()).sum();
            assert!(bytes <= KEPT_DATA_BYTES, "{bytes}");
        }
        assert_eq!(cache.get(at(3)), None);
    }
}
