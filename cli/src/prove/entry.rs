//! One event's record and its sealed part, read from its frame.

use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use bitacora_formats::{
    LedgerKeys, PartError, Position, Record, RecordError, RevealedPart, SUBJECT_KEY_FILE_BYTES,
    SubjectFileError, SubjectFiles, open_part, part_blind,
};
use bitacora_ledger::{Ledger, ReadError};

/// The reason why the event cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EntryError {
    #[error("{0}")]
    Disk(#[from] io::Error),
    #[error("no frame holds it")]
    NotThere,
    #[error(transparent)]
    Ledger(#[from] ReadError),
    #[error("its record: {0}")]
    Record(#[from] RecordError),
    #[error("it says nothing of a data subject; leave --with-part away")]
    NoPart,
    #[error("the key of its data subject is not there: the subject was erased, or the store is elsewhere")]
    Erased,
    #[error("the key of its data subject: {0}")]
    SubjectKey(#[from] SubjectFileError),
    #[error(transparent)]
    Part(#[from] PartError),
}

/// An event as its frame holds it.
pub(super) struct StoredEntry {
    pub(super) record: Vec<u8>,
    pub(super) part: Option<Vec<u8>>,
}

/// Finds the event and opens its frame, in either tier.
pub(super) fn find(ledger: &Ledger, position: Position) -> Result<StoredEntry, EntryError> {
    let mut found = None;
    ledger.frames(position, position, &mut |frame| {
        let index = position.get().checked_sub(frame.first_position.get());
        let entry = index.and_then(|index| frame.body.entries().nth(usize::try_from(index).ok()?));
        found = entry
            .map(|entry| StoredEntry { record: entry.record.to_vec(), part: entry.part.map(<[u8]>::to_vec) });
        ControlFlow::Break(())
    })?;
    found.ok_or(EntryError::NotThere)
}

/// Opens the sealed part of a record with its subject's key, from the ledger's store.
pub(super) fn open(
    folder: &Path,
    keys: &LedgerKeys,
    record: &Record<'_>,
    part: Option<&[u8]>,
) -> Result<Option<RevealedPart>, EntryError> {
    let (seal, part) = record.seal().zip(part).ok_or(EntryError::NoPart)?;
    let [first, rest @ ..] = seal.subject_key;
    let path = folder.join("subjects").join("by-id").join(format!("{first:02x}")).join(hex::encode(rest));
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(SUBJECT_KEY_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(EntryError::Erased),
        Err(error) => return Err(error.into()),
    };
    let files = SubjectFiles::new(keys.ledger(), keys.index_key().clone());
    let key = files.open_key(&seal.subject_key, &bytes)?;
    let part = open_part(&key, keys.ledger(), &seal.seal, part)?;
    Ok(Some(RevealedPart { blind: part_blind(&key, keys.ledger()), part }))
}
