//! The beginning of an archive's file.

use super::error::ArchiveError;
use super::manifest::Manifest;
use bitacora_formats::Fields;
use bitacora_formats::{Generation, LedgerId};

/// The magic that an archive begins with.
pub const ARCHIVE_MAGIC: [u8; 8] = *b"BITACARC";
/// The one format that is written, and the one that can be read.
pub const ARCHIVE_FORMAT: u16 = 1;
/// Bytes of the header: where the first part begins.
pub const ARCHIVE_HEADER_BYTES: usize = 40;

/// The ledger, the generation and the first position of an archive. Each field is also one of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveHeader {
    /// The ledger.
    pub ledger: LedgerId,
    /// The generation that the archive was made in.
    pub generation: Generation,
    /// The first position.
    pub first: u64,
}

impl ArchiveHeader {
    /// The header of the archive with this manifest.
    #[must_use]
    pub fn of(manifest: &Manifest) -> Self {
        let Manifest { origin, range, .. } = manifest;
        Self { ledger: origin.ledger, generation: origin.generation, first: range.first().get() }
    }

    /// Reads the header that the bytes begin with; more may follow it.
    ///
    /// # Errors
    /// An [`ArchiveError`] for the first thing that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ArchiveError> {
        let mut fields = Fields::new(bytes);
        let ended = |_| ArchiveError::Truncated {
            what: "header",
            needed: ARCHIVE_HEADER_BYTES as u64,
            found: bytes.len() as u64,
        };
        let found: [u8; 8] = fields.bytes().map_err(ended)?;
        if found != ARCHIVE_MAGIC {
            return Err(ArchiveError::Magic { what: "header", found });
        }
        let found = fields.u16().map_err(ended)?;
        if found != ARCHIVE_FORMAT {
            return Err(ArchiveError::Format { found });
        }
        let flags = fields.u16().map_err(ended)?;
        let generation = Generation(fields.u32().map_err(ended)?);
        let ledger = LedgerId(fields.bytes().map_err(ended)?);
        let first = fields.u64().map_err(ended)?;
        if flags == 0 {
            Ok(Self { ledger, generation, first })
        } else {
            Err(ArchiveError::Reserved { what: "header" })
        }
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ARCHIVE_HEADER_BYTES] {
        let mut bytes = [0; ARCHIVE_HEADER_BYTES];
        let fields = ARCHIVE_MAGIC
            .into_iter()
            .chain(ARCHIVE_FORMAT.to_le_bytes())
            .chain([0; 2])
            .chain(self.generation.0.to_le_bytes())
            .chain(self.ledger.0)
            .chain(self.first.to_le_bytes());
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }
}
