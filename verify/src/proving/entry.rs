//! The errors of reading one event, and the opening of its sealed part.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bitacora_archive_format::ArchiveError;
use bitacora_formats::{
    BodyError, CompressionError, FrameError, FrameOpenError, LedgerKeys, PartError, ProofError, Record,
    RecordError, RevealedPart, SUBJECT_KEY_FILE_BYTES, SegmentError, SubjectFileError, SubjectFiles,
    open_part, part_blind,
};

use super::event_reader::is_absent;
use crate::archive::ArchiveProblem;

/// The reason why the event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// The disk, or the store of archives, gave an error.
    #[error("{0}")]
    Disk(#[from] io::Error),
    /// Nothing in the folder holds it.
    #[error("no frame holds it")]
    NotThere,
    /// Its segment was released, and no store of archives is known.
    #[error("it lies in an archive; name the folder or store of archives with --archive-store")]
    NoStore,
    /// Its segment does not open.
    #[error("its segment: {0}")]
    Segment(#[from] SegmentError),
    /// Its frame is damaged.
    #[error("its frame: {0}")]
    Frame(#[from] FrameError),
    /// Its frame does not open.
    #[error("its frame: {0}")]
    Open(#[from] FrameOpenError),
    /// Its frame's contents are damaged.
    #[error("its frame: {0}")]
    Body(#[from] BodyError),
    /// The decompressor cannot be made.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// Its archive is damaged, or does not open.
    #[error("its archive: {0}")]
    Archive(#[from] ArchiveError),
    /// Its archive cannot be read.
    #[error("its archive: {0}")]
    ArchiveFile(#[from] ArchiveProblem),
    /// The events before the head do not make the head's tree.
    #[error("the events do not make the tree of the signed head: {0}; verify the ledger")]
    Tree(#[from] ProofError),
    /// Its record is damaged.
    #[error("its record: {0}")]
    Record(#[from] RecordError),
    /// Its content was removed from its archive.
    #[error("its content expired under the retention policy; leave --with-part away")]
    Expired,
    /// It has no part of a data subject.
    #[error("it says nothing of a data subject; leave --with-part away")]
    NoPart,
    /// The key of its data subject is missing.
    #[error("the key of its data subject is not there: the subject was erased, or the store is elsewhere")]
    Erased,
    /// The key of its data subject cannot be used.
    #[error("the key of its data subject: {0}")]
    SubjectKey(#[from] SubjectFileError),
    /// Its sealed part does not open.
    #[error(transparent)]
    Part(#[from] PartError),
}

/// Opens the sealed part of a record with its subject's key, from the ledger's store.
pub(super) fn open(
    folder: &Path,
    keys: &LedgerKeys,
    record: &Record<'_>,
    part: Option<&[u8]>,
) -> Result<RevealedPart, EntryError> {
    let (seal, part) = record.seal().zip(part).ok_or(EntryError::NoPart)?;
    let [first, rest @ ..] = seal.subject_key;
    let path = folder.join("subjects").join("by-id").join(format!("{first:02x}")).join(hex::encode(rest));
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(SUBJECT_KEY_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?,
        Err(error) if is_absent(&error) => return Err(EntryError::Erased),
        Err(error) => return Err(error.into()),
    };
    let files = SubjectFiles::new(keys.ledger(), keys.index_key().clone());
    let key = files.open_key(&seal.subject_key, &bytes)?;
    let part = open_part(&key, keys.ledger(), &seal.seal, part)?;
    Ok(RevealedPart { blind: part_blind(&key, keys.ledger()), part })
}
