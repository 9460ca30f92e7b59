//! One event's record, and its sealed part, out of the segments.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bitacora_formats::{
    BodyError, CompressionError, Decompressor, FrameError, FrameHeader, FrameOpenError, FrameOpener, Keyring,
    LedgerKeys, MAX_SEGMENT_HEADER_BYTES, PartError, Position, Record, RecordError, RevealedPart,
    SUBJECT_KEY_FILE_BYTES, SegmentError, SegmentHeader, SegmentNumber, StoredFrame, SubjectFileError,
    SubjectFiles, decode_body, open_part, part_blind,
};

use crate::verify::LedgerFolder;

/// Why the event cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EntryError {
    #[error("{0}")]
    Disk(#[from] io::Error),
    #[error("no segment holds it")]
    NotThere,
    #[error("its segment: {0}")]
    Segment(#[from] SegmentError),
    #[error("its frame: {0}")]
    Frame(#[from] FrameError),
    #[error("its frame does not open: {0}")]
    Open(#[from] FrameOpenError),
    #[error("its frame: {0}")]
    Body(#[from] BodyError),
    #[error("its record: {0}")]
    Record(#[from] RecordError),
    #[error("{0}")]
    Memory(#[from] CompressionError),
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

/// Finds the event and opens its frame.
pub(super) fn find(
    folder: &LedgerFolder<'_>,
    keyring: &Keyring,
    position: Position,
) -> Result<StoredEntry, EntryError> {
    let number = segment_of(folder, position)?;
    let bytes = folder.load(number)?;
    let header = SegmentHeader::parse(&bytes)?;
    let opener = FrameOpener::new(&header.unwrap_key(keyring)?);
    let mut rest = bytes.get(header.stored_bytes()..).ok_or(EntryError::NotThere)?;
    loop {
        let frame = FrameHeader::parse(rest)?;
        if frame.last_position() >= position {
            break;
        }
        rest = rest.get(frame.stored_bytes()..).ok_or(EntryError::NotThere)?;
    }
    let stored = StoredFrame::parse(rest)?;
    let first = stored.header().first_position.get();
    let mut decompressor = Decompressor::new()?;
    let body = opener.open_body(&stored, &mut decompressor)?;
    let body = decode_body(&body, stored.header().count)?;
    let number = position.get().checked_sub(first).and_then(|number| usize::try_from(number).ok());
    let entry = number.and_then(|number| body.entries().nth(number)).ok_or(EntryError::NotThere)?;
    Ok(StoredEntry { record: entry.record.to_vec(), part: entry.part.map(<[u8]>::to_vec) })
}

/// The last written segment that begins at the position or before it.
fn segment_of(folder: &LedgerFolder<'_>, position: Position) -> Result<SegmentNumber, EntryError> {
    let begins = |number: &SegmentNumber| -> io::Result<Option<Position>> {
        let start = folder.load_start(*number, MAX_SEGMENT_HEADER_BYTES)?;
        Ok(SegmentHeader::parse(&start).ok().map(|header| header.first_position))
    };
    let segments = folder.list()?.segments;
    // Those that were made ahead lie at the end, so that a search by halves finds the place between.
    let (mut low, mut high) = (0, segments.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let Some(number) = segments.get(middle) else { break };
        if begins(number)?.is_some_and(|first| first <= position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low.checked_sub(1).and_then(|at| segments.get(at)).copied().ok_or(EntryError::NotThere)
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
