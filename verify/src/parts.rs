//! The sealed parts of records about data subjects, which open while the subject's key is there.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bitacora_formats::limits::MAX_ERASED_KEYS;
use bitacora_formats::{
    LedgerId, LedgerKeys, Position, Record, RecordData, SUBJECT_KEY_FILE_BYTES, Secret, SubjectFiles,
    decode_part, open_part,
};
use bitacora_vocabulary::{EventData, SubjectErased};

use super::fault::{FaultKind, Gap};

/// The most keys held in memory; past it they are read from their files again.
const MAX_CACHED_KEYS: usize = 1 << 16;

/// The counts of checked parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartCounts {
    /// Parts that were opened, and match the seals of their records.
    pub opened: u64,
    /// Parts that were not opened, because the subject's key is not in the ledger's store: the subject was erased, or
    /// the store is elsewhere.
    pub without_key: u64,
}

/// The most missing keys that are told apart: twice as many as a ledger's erased ones.
const MAX_ABSENT_KEYS: usize = 2 * MAX_ERASED_KEYS;

/// The sealed parts of some records.
#[derive(Default)]
pub struct FoundParts {
    /// The counts of those that were checked.
    pub counts: PartCounts,
    /// The gap of the first key that is there and cannot be used.
    pub gap: Option<Arc<Gap>>,
}

/// The store of subjects' keys, beside the segments; shared by the threads that open frames.
pub struct SubjectKeyStore {
    store: PathBuf,
    ledger: LedgerId,
    files: SubjectFiles,
    cached: Mutex<HashMap<[u8; 16], FoundKey>>,
    /// The ids of missing keys, as many as are counted.
    absent: Mutex<HashSet<[u8; 16]>>,
    /// The ids of the keys whose erasure the log records, with the event.
    erased: Mutex<HashMap<[u8; 16], Position>>,
}

/// The result of looking for a subject's key.
#[derive(Clone)]
enum FoundKey {
    Held(Arc<Secret>),
    Absent,
    /// The key's file is there and cannot be used.
    Unusable(Arc<Gap>),
}

/// Returns the id of the key whose erasure a record declares, if it does.
pub(super) fn erased_key(record: &Record<'_>) -> Option<[u8; 16]> {
    let is_erasure = record.kind == SubjectErased::KIND;
    let RecordData::Json(json) = is_erasure.then_some(&record.data)? else { return None };
    let SubjectErased { key, .. } = serde_json::from_slice(json.as_bytes()).ok()?;
    Some(key.bytes())
}

impl SubjectKeyStore {
    /// Returns the store of the ledger in `folder`.
    #[must_use]
    pub fn new(folder: &Path, ledger: LedgerId, keys: &LedgerKeys) -> Self {
        let store = folder.join("subjects").join("by-id");
        let files = SubjectFiles::new(ledger, keys.index_key().clone());
        let (cached, absent, erased) = <(Mutex<_>, Mutex<_>, Mutex<_>)>::default();
        Self { store, ledger, files, cached, absent, erased }
    }

    /// Takes in keys whose erasure archives record.
    pub(super) fn add_erased(&self, keys: &HashMap<[u8; 16], Position>) {
        self.erased.lock().unwrap_or_else(PoisonError::into_inner).extend(keys);
    }

    fn note_erasure(&self, position: Position, record: &Record<'_>) {
        if let Some(key) = erased_key(record) {
            self.erased.lock().unwrap_or_else(PoisonError::into_inner).insert(key, position);
        }
    }

    /// Returns the gap of the missing keys whose erasure the log does not record.
    pub(super) fn lost(&self) -> Option<Gap> {
        let absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        let erased = self.erased.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = absent.iter().filter(|key| !erased.contains_key(*key)).count() as u64;
        // More are missing than can be told apart: some of them may be lost.
        let lost = if absent.len() < MAX_ABSENT_KEYS { lost } else { lost.max(1) };
        (lost > 0).then_some(Gap::SubjectKeysLost { lost })
    }

    /// Returns the gap of the keys that are there although the log records their erasure.
    pub(super) fn back(&self) -> Option<Gap> {
        let erased = self.erased.lock().unwrap_or_else(PoisonError::into_inner);
        let held = erased.iter().filter(|(key, _)| self.path(key).symlink_metadata().is_ok());
        let (keys, event) = held.fold((0, None), |(keys, event), (_, position)| {
            (keys + 1, Some(event.map_or(*position, |event: Position| event.min(*position))))
        });
        event.map(|event: Position| Gap::ErasedKeysHeld { keys, event: event.get() })
    }

    /// Checks the part beside a record against it.
    ///
    /// # Errors
    /// A fault: the part is missing, belongs to no record, or is not what the record was sealed with.
    pub fn check(
        &self,
        position: Position,
        record: &Record<'_>,
        part: Option<&[u8]>,
        found: &mut FoundParts,
    ) -> Result<(), FaultKind> {
        self.note_erasure(position, record);
        let presence = |expected, found| Err(FaultKind::PartPresence { expected, found });
        let (seal, part) = match (record.seal(), part) {
            (None, None) => return Ok(()),
            (Some(seal), Some(part)) => (seal, part),
            (Some(_), None) => return presence("the sealed part that the record names", "none"),
            (None, Some(_)) => return presence("no sealed part beside the record", "one"),
        };
        let key = match self.key(&seal.subject_key) {
            FoundKey::Held(key) => key,
            FoundKey::Absent => {
                found.counts.without_key += 1;
                let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
                if absent.len() < MAX_ABSENT_KEYS {
                    absent.insert(seal.subject_key);
                }
                return Ok(());
            }
            FoundKey::Unusable(gap) => {
                found.counts.without_key += 1;
                found.gap.get_or_insert(gap);
                return Ok(());
            }
        };
        let opened = open_part(&key, self.ledger, &seal.seal, part)?;
        decode_part(&opened).map_err(FaultKind::PartRecord)?;
        found.counts.opened += 1;
        Ok(())
    }

    fn key(&self, id: &[u8; 16]) -> FoundKey {
        if let Some(known) = self.cached().get(id) {
            return known.clone();
        }
        let key = self.load(id);
        let mut cached = self.cached();
        if cached.len() >= MAX_CACHED_KEYS {
            cached.clear();
        }
        cached.insert(*id, key.clone());
        key
    }

    fn load(&self, id: &[u8; 16]) -> FoundKey {
        let path = self.path(id);
        let unusable = |what: &dyn std::fmt::Display| {
            let gap = Gap::SubjectKey { path: path.display().to_string(), what: what.to_string() };
            FoundKey::Unusable(Arc::new(gap))
        };
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            // Erased, or lost: how many of them may be gone is known when all is read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return FoundKey::Absent,
            Err(error) => return unusable(&error),
        };
        match self.files.open_key(id, &bytes) {
            Ok(key) => FoundKey::Held(Arc::new(key)),
            Err(error) => unusable(&error),
        }
    }

    /// Returns the file of a key.
    fn path(&self, [first, rest @ ..]: &[u8; 16]) -> PathBuf {
        self.store.join(format!("{first:02x}")).join(hex::encode(rest))
    }

    fn cached(&self) -> MutexGuard<'_, HashMap<[u8; 16], FoundKey>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a key's file. One byte more than such a file has is enough to refuse it.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe would be waited for.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"));
    }
    let mut bytes = Vec::with_capacity(SUBJECT_KEY_FILE_BYTES + 1);
    File::open(path)?.take(SUBJECT_KEY_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl FoundParts {
    /// Takes in the findings of a later frame.
    pub(super) fn add(&mut self, other: Self) {
        self.counts.add(other.counts);
        self.gap = self.gap.take().or(other.gap);
    }
}

impl PartCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.opened += other.opened;
        self.without_key += other.without_key;
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{Data, Event, EventDraft, Json, Keyring};

    use super::*;

    fn erasure(key: &str) -> Record<'static> {
        let mut event = Event::new("e", "urn:test", SubjectErased::KIND, "subjects");
        let data = format!(r#"{{"key":"{}","authority":"asked for"}}"#, key.repeat(16));
        event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
        match Record::draft(event, 0) {
            EventDraft::Clear(record) => record,
            EventDraft::Sensitive { .. } => panic!("it names nobody"),
        }
    }

    #[test]
    fn a_missing_key_is_lost_unless_the_log_records_its_own_erasure() {
        let (folder, ledger) = (tempfile::tempdir().unwrap(), LedgerId([7; 16]));
        let keys = LedgerKeys::new(&Keyring::generate(&mut |bytes| bytes.fill(3)), ledger);
        let parts = SubjectKeyStore::new(folder.path(), ledger, &keys);
        let lost = |lost| Some(Gap::SubjectKeysLost { lost });
        assert_eq!(parts.lost(), None);
        parts.absent.lock().unwrap().insert([0x5a; 16]);
        assert_eq!(parts.lost(), lost(1));
        parts.note_erasure(Position::FIRST, &erasure("5b"));
        assert_eq!(parts.lost(), lost(1), "the erasure of another key");
        parts.absent.lock().unwrap().insert([0x5b; 16]);
        assert_eq!(parts.lost(), lost(1));
        parts.note_erasure(Position::FIRST, &erasure("5a"));
        assert_eq!(parts.lost(), None);
        assert_eq!(erased_key(&Record { kind: "subject.other".into(), ..erasure("5c") }), None);
    }
}
