//! The layout of an archive: all of it but its parts, which a reader fetches first.

use super::error::ArchiveError;
use super::header::ArchiveHeader;
use super::manifest::{SignedManifest, UnverifiedManifest};
use super::table::PartTable;
use super::trailer::{ARCHIVE_TRAILER_BYTES, ArchiveTrailer};
use bitacora_formats::SigningChain;

/// Header, manifest and table of an archive, which agree with one another: the ledger's signature covers all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLayout {
    manifest: SignedManifest,
    table: PartTable,
}

impl ArchiveLayout {
    /// Reads an archive of `archive_bytes` from its first [`ARCHIVE_HEADER_BYTES`](super::ARCHIVE_HEADER_BYTES) bytes and from
    /// all that lies behind its parts: table, manifest and trailer, as the trailer says where. The manifest is verified with
    /// the ledger's signing keys, or with those in it where none are known.
    ///
    /// # Errors
    /// An [`ArchiveError`] for the first thing that is wrong.
    pub fn parse(
        header: &[u8],
        tail: &[u8],
        archive_bytes: u64,
        chain: Option<&SigningChain>,
    ) -> Result<Self, ArchiveError> {
        let header = ArchiveHeader::parse(header)?;
        let cut = ArchiveError::Truncated {
            what: "end",
            needed: ARCHIVE_TRAILER_BYTES as u64,
            found: tail.len() as u64,
        };
        let (before, trailer) = tail.split_last_chunk::<ARCHIVE_TRAILER_BYTES>().ok_or(cut.clone())?;
        let trailer = ArchiveTrailer::parse(trailer, archive_bytes)?;
        let table_bytes = usize::try_from(trailer.table().end - trailer.table().start).ok();
        let manifest_bytes = trailer.manifest().end - trailer.manifest().start;
        let split = table_bytes.and_then(|bytes| before.split_at_checked(bytes));
        let (table, manifest) = split.filter(|(_, rest)| rest.len() as u64 == manifest_bytes).ok_or(cut)?;
        let manifest = UnverifiedManifest::parse(manifest)?;
        let manifest = match chain {
            Some(chain) => manifest.verify(chain)?,
            None => manifest.verify_alone()?,
        };
        let table = PartTable::parse(table, manifest.manifest())?;
        let (expected, found) = (table.end(), trailer.table().start);
        if expected != found {
            return Err(ArchiveError::Disagrees { field: "where the table begins", expected, found });
        }
        if header != ArchiveHeader::of(manifest.manifest()) {
            return Err(ArchiveError::Contents { what: "the header" });
        }
        Ok(Self { manifest, table })
    }

    /// Returns the ledger's statement about the archive.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// The parts.
    #[must_use]
    pub fn table(&self) -> &PartTable {
        &self.table
    }
}
