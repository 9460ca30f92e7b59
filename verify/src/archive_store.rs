//! The places that archives are read from: a folder, or a store that the caller knows.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bitacora_archive_format::{
    ARCHIVE_HEADER_BYTES, ARCHIVE_TRAILER_BYTES, ArchiveHeader, ArchiveLayout, ArchiveTrailer,
};
use bitacora_formats::SigningChain;

use super::archive::ArchiveProblem;
use super::folder::open_regular;

/// The bytes of one archive.
pub trait ArchiveBytes {
    /// Returns their number.
    fn size(&self) -> u64;

    /// Reads the bytes of a range.
    ///
    /// # Errors
    /// The error of the disk or of the store; also where the range ends behind the archive.
    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>>;
}

/// A store of archives, by their names in it.
pub trait ArchiveStore {
    /// Opens the archive of this name.
    ///
    /// # Errors
    /// The error of the disk or of the store.
    fn open(&self, name: &str) -> io::Result<Box<dyn ArchiveBytes>>;
}

/// A folder that holds archives by their names in a store.
#[derive(Debug, Clone)]
pub struct ArchiveFolder(pub PathBuf);

impl ArchiveStore for ArchiveFolder {
    fn open(&self, name: &str) -> io::Result<Box<dyn ArchiveBytes>> {
        let file = open_regular(&self.0.join(name))?;
        let bytes = file.metadata()?.len();
        Ok(Box::new(ArchiveFile { file, bytes }))
    }
}

/// An archive in a file.
pub(super) struct ArchiveFile {
    pub(super) file: File,
    pub(super) bytes: u64,
}

impl ArchiveBytes for ArchiveFile {
    fn size(&self) -> u64 {
        self.bytes
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }
}

/// Reads header, manifest and table of an archive, with the ledger's signing keys or, where they are not known, with
/// those in it.
pub(super) fn read_layout(
    archive: &dyn ArchiveBytes,
    chain: Option<&SigningChain>,
) -> Result<ArchiveLayout, ArchiveProblem> {
    let bytes = archive.size();
    let at = |offset| move |error| ArchiveProblem::Wrong { offset, error };
    // The parser says what less than a trailer lacks.
    let end = bytes.saturating_sub(ARCHIVE_TRAILER_BYTES as u64);
    let trailer = archive.read(end..bytes)?;
    let mut header = vec![0; ARCHIVE_HEADER_BYTES];
    if bytes >= header.len() as u64 {
        header = archive.read(0..ARCHIVE_HEADER_BYTES as u64)?;
        // A file with another beginning is no archive, whatever its end.
        ArchiveHeader::parse(&header).map_err(at(0))?;
    }
    let trailer = ArchiveTrailer::parse(&trailer, bytes).map_err(at(end))?;
    let start = trailer.table().start;
    let tail = archive.read(start..bytes)?;
    ArchiveLayout::parse(&header, &tail, bytes, chain).map_err(at(start))
}
