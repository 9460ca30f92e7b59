//! An archive in a store: opened by its end, read part by part.

use std::sync::Arc;

use bitacora_archive_format::{
    ARCHIVE_HEADER_BYTES, ARCHIVE_TRAILER_BYTES, ArchiveError, ArchiveLayout, ArchiveTrailer, PartEntry,
};
use bitacora_formats::SigningChain;

use crate::archive_store::{ObjectVersion, Objects};
use crate::error::StoredError;

/// Bytes of an archive's end that are read first: most often all that lies behind its parts.
const FIRST_TAIL_BYTES: u64 = 64 * 1024;

/// One version of an archive in a store, whose header, manifest and table agree.
#[derive(Debug)]
pub struct StoredArchive {
    objects: Arc<dyn Objects>,
    name: String,
    version: ObjectVersion,
    outline: ArchiveLayout,
}

impl StoredArchive {
    /// Opens the archive of this name. Its manifest is verified with the ledger's signing keys, or with those in it where none
    /// are known.
    ///
    /// # Errors
    /// [`StoredError`].
    pub fn open(
        objects: &Arc<dyn Objects>,
        name: &str,
        signers: Option<&SigningChain>,
    ) -> Result<Self, StoredError> {
        let version = objects.version(name)?;
        let wrong = |source| StoredError::Archive { object: objects.shown(name), source };
        let (header_bytes, trailer_bytes) = (ARCHIVE_HEADER_BYTES as u64, ARCHIVE_TRAILER_BYTES as u64);
        if version.bytes < header_bytes + trailer_bytes {
            let (needed, found) = (header_bytes + trailer_bytes, version.bytes);
            return Err(wrong(ArchiveError::Truncated { what: "all", needed, found }));
        }
        let header = objects.read(name, &version, 0..header_bytes)?;
        let mut from = version.bytes.saturating_sub(FIRST_TAIL_BYTES).max(header_bytes);
        let mut tail = objects.read(name, &version, from..version.bytes)?;
        let trailer = tail.last_chunk::<ARCHIVE_TRAILER_BYTES>().copied().unwrap_or_default();
        let trailer = ArchiveTrailer::parse(&trailer, version.bytes).map_err(wrong)?;
        let start = trailer.table().start;
        if start < from {
            let mut rest = objects.read(name, &version, start..from)?;
            rest.append(&mut tail);
            (tail, from) = (rest, start);
        }
        let behind_parts = usize::try_from(start - from).ok().and_then(|skipped| tail.get(skipped..));
        let outline = ArchiveLayout::parse(&header, behind_parts.unwrap_or_default(), version.bytes, signers);
        let outline = outline.map_err(wrong)?;
        Ok(Self { objects: Arc::clone(objects), name: name.to_owned(), version, outline })
    }

    /// Returns the outline of the archive: what it says of itself.
    #[must_use]
    pub fn outline(&self) -> &ArchiveLayout {
        &self.outline
    }

    /// Returns the name that it is shown as.
    #[must_use]
    pub fn shown(&self) -> String {
        self.objects.shown(&self.name)
    }

    /// Bytes of all of it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.version.bytes
    }

    /// The bytes of a part, as they are stored; not checked yet.
    ///
    /// # Errors
    /// [`StoredError::Store`].
    pub fn part(&self, entry: &PartEntry) -> Result<Vec<u8>, StoredError> {
        Ok(self.objects.read(&self.name, &self.version, entry.range())?)
    }

    /// All bytes from one place to another; not checked.
    ///
    /// # Errors
    /// [`StoredError::Store`].
    pub fn read(&self, range: std::ops::Range<u64>) -> Result<Vec<u8>, StoredError> {
        Ok(self.objects.read(&self.name, &self.version, range)?)
    }

    /// Says which archive it is that something is wrong with.
    pub(crate) fn wrong(&self, source: ArchiveError) -> StoredError {
        StoredError::Archive { object: self.shown(), source }
    }
}
