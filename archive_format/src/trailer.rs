//! The end of an archive's file: the places of the part table and of the manifest.

use std::ops::Range;

use super::error::ArchiveError;
use super::header::{ARCHIVE_FORMAT, ARCHIVE_HEADER_BYTES};
use bitacora_formats::Fields;
use bitacora_formats::limits::{MAX_ARCHIVE_PARTS, MAX_MANIFEST_BYTES};

use super::table::PART_ENTRY_BYTES;

/// The magic that an archive ends with.
pub const ARCHIVE_TRAILER_MAGIC: [u8; 8] = *b"BITACARE";
/// Bytes of the trailer.
pub const ARCHIVE_TRAILER_BYTES: usize = 32;

/// The places of the table and of the manifest in the file. Nothing of it is authentic before the manifest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveTrailer {
    table_offset: u64,
    table_bytes: u32,
    manifest_bytes: u32,
}

impl ArchiveTrailer {
    /// The trailer behind a table and a manifest of these lengths.
    pub(super) fn new(table_offset: u64, table_bytes: u32, manifest_bytes: u32) -> Self {
        Self { table_offset, table_bytes, manifest_bytes }
    }

    /// Reads the last bytes of an archive that has `archive_bytes`.
    ///
    /// # Errors
    /// An [`ArchiveError`], also where table, manifest and trailer would not end at the archive's end.
    pub fn parse(bytes: &[u8], archive_bytes: u64) -> Result<Self, ArchiveError> {
        let truncated = ArchiveError::Truncated {
            what: "trailer",
            needed: (ARCHIVE_HEADER_BYTES + ARCHIVE_TRAILER_BYTES) as u64,
            found: archive_bytes.min(bytes.len() as u64),
        };
        if archive_bytes < (ARCHIVE_HEADER_BYTES + ARCHIVE_TRAILER_BYTES) as u64
            || bytes.len() != ARCHIVE_TRAILER_BYTES
        {
            return Err(truncated);
        }
        let mut fields = Fields::new(bytes);
        let mut read = || -> Result<_, bitacora_formats::ShortField> {
            let trailer = Self {
                table_offset: fields.u64()?,
                table_bytes: fields.u32()?,
                manifest_bytes: fields.u32()?,
            };
            Ok((trailer, fields.u16()?, fields.bytes::<6>()?, fields.bytes::<8>()?))
        };
        let (trailer, format, reserved, magic) = read().map_err(|_| truncated)?;
        if magic != ARCHIVE_TRAILER_MAGIC {
            return Err(ArchiveError::Magic { what: "trailer", found: magic });
        }
        if format != ARCHIVE_FORMAT {
            return Err(ArchiveError::Format { found: format });
        }
        if reserved != [0; 6] {
            return Err(ArchiveError::Reserved { what: "trailer" });
        }
        trailer.check(archive_bytes)
    }

    fn check(self, archive_bytes: u64) -> Result<Self, ArchiveError> {
        let (table, manifest) = (self.table_bytes as usize, self.manifest_bytes as usize);
        if table > MAX_ARCHIVE_PARTS * PART_ENTRY_BYTES || manifest > MAX_MANIFEST_BYTES {
            return Err(ArchiveError::TooLarge { what: "table or manifest" });
        }
        let tail = (table + manifest + ARCHIVE_TRAILER_BYTES) as u64;
        let starts_behind_header = self.table_offset >= ARCHIVE_HEADER_BYTES as u64;
        if starts_behind_header && self.table_offset.checked_add(tail) == Some(archive_bytes) {
            Ok(self)
        } else {
            Err(ArchiveError::Disagrees {
                field: "the archive's bytes",
                expected: self.table_offset.saturating_add(tail),
                found: archive_bytes,
            })
        }
    }

    /// The trailer's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ARCHIVE_TRAILER_BYTES] {
        let mut bytes = [0; ARCHIVE_TRAILER_BYTES];
        let fields = self
            .table_offset
            .to_le_bytes()
            .into_iter()
            .chain(self.table_bytes.to_le_bytes())
            .chain(self.manifest_bytes.to_le_bytes())
            .chain(ARCHIVE_FORMAT.to_le_bytes())
            .chain([0; 6])
            .chain(ARCHIVE_TRAILER_MAGIC);
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }

    /// Returns the range of the part table in the file.
    #[must_use]
    pub fn table(&self) -> Range<u64> {
        self.table_offset..self.table_offset + u64::from(self.table_bytes)
    }

    /// Returns the range of the manifest in the file.
    #[must_use]
    pub fn manifest(&self) -> Range<u64> {
        let start = self.table().end;
        start..start + u64::from(self.manifest_bytes)
    }
}
