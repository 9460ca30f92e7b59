//! What answers take from the log itself: the data of single events, the last of them kept in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_formats::{Data, Position};
use bitacora_ledger::{Ledger, ReadError};

use crate::limits::{KEPT_DATA_BYTES, KEPT_DATUM_BYTES};

/// Data of an event, for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogData {
    /// JSON or bytes.
    Bytes(Arc<[u8]>),
    /// It was sealed under the key of a data subject, which is gone.
    Erased,
    /// It has none.
    None,
}

/// Reads data of events, each of which never changes.
pub(crate) struct Log {
    ledger: Ledger,
    kept: Mutex<Kept>,
}

/// Those that were asked for lately: at most [`KEPT_DATA_BYTES`], in two halves of which the older one is let go.
#[derive(Default)]
struct Kept {
    newer: HashMap<Position, Arc<[u8]>>,
    older: HashMap<Position, Arc<[u8]>>,
    newer_bytes: usize,
}

impl Log {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self { ledger, kept: Mutex::default() }
    }

    /// The data of the event at a position. Blocks on the disk, where it is not in memory.
    pub(crate) fn data(&self, position: Position) -> Result<LogData, ReadError> {
        if let Some(bytes) = self.kept().get(position) {
            return Ok(LogData::Bytes(bytes));
        }
        let stored = self.ledger.event(position)?;
        if stored.erased {
            return Ok(LogData::Erased);
        }
        let bytes: Arc<[u8]> = match &stored.event.data {
            Data::Json(json) => json.as_bytes().into(),
            Data::Binary(bytes) => bytes.as_ref().into(),
            Data::None => return Ok(LogData::None),
        };
        // What may be erased is not remembered: it would be told after its end.
        if stored.event.datasubject.is_none() && bytes.len() <= KEPT_DATUM_BYTES {
            self.kept().put(position, Arc::clone(&bytes));
        }
        Ok(LogData::Bytes(bytes))
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn get(&mut self, position: Position) -> Option<Arc<[u8]>> {
        if let Some(bytes) = self.newer.get(&position) {
            return Some(Arc::clone(bytes));
        }
        let bytes = self.older.remove(&position)?;
        self.put(position, Arc::clone(&bytes));
        Some(bytes)
    }

    fn put(&mut self, position: Position, bytes: Arc<[u8]>) {
        if self.newer_bytes + bytes.len() > KEPT_DATA_BYTES / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.newer_bytes = 0;
        }
        self.newer_bytes += bytes.len();
        if let Some(before) = self.newer.insert(position, bytes) {
            self.newer_bytes -= before.len();
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
        let mut kept = Kept::default();
        let datum: Arc<[u8]> = vec![1; KEPT_DATUM_BYTES].into();
        for position in 1..=100 {
            kept.put(at(position), Arc::clone(&datum));
            assert_eq!(kept.get(at(1)).as_deref(), Some(&datum[..]), "{position}");
            let bytes: usize = kept.newer.values().chain(kept.older.values()).map(|bytes| bytes.len()).sum();
            assert!(bytes <= KEPT_DATA_BYTES, "{bytes}");
        }
        assert_eq!(kept.get(at(3)), None);
    }
}
