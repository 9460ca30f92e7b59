//! Cold archives: a range of a ledger's events, sealed, in one file.
//!
//! Layout: `docs/formats/archive.md`.
//!
//! This crate neither reads nor writes files: a [`ArchiveWriter`] gives the bytes to append, one piece after another, and a reader
//! brings the ranges that an [`ArchiveLayout`] names.

mod bits;
mod check;
mod columns;
mod error;
mod group;
mod header;
mod index;
mod key;
mod layout;
mod manifest;
mod range;
#[cfg(test)]
mod sample;
mod table;
mod term;
#[cfg(test)]
mod tests;
mod trailer;
mod tree;
mod writer;

pub use check::{ContentCheck, check_roots};
pub use columns::{
    COLUMNS_FORMAT, COLUMNS_MAGIC, ColumnGroup, ColumnRow, ColumnsError, MAX_GROUP_BYTES, MAX_GROUP_ROWS,
    Rows, decode_columns, encode_columns,
};
pub use error::{ArchiveError, ManifestError};
pub use group::{EventGroup, GroupCollector, SealedGroup, open_columns, open_group, seal_group};
pub use header::{ARCHIVE_FORMAT, ARCHIVE_HEADER_BYTES, ARCHIVE_MAGIC, ArchiveHeader};
pub use index::{GroupTimes, IndexShard};
pub use key::{ArchiveKey, SEALED_OVERHEAD_BYTES, open_part};
pub use layout::ArchiveLayout;
pub use manifest::{
    ChainLink, ExpiryLine, MANIFEST_FIRST_LINE, Manifest, SegmentLink, SignedManifest, StateLine,
    TableDigest, TreeHeadProof, UnverifiedManifest, WrappedKey,
};
pub use range::{ArchiveRange, GROUP_LEAVES, Revision};
pub use table::{PART_ENTRY_BYTES, PartCheck, PartEntry, PartKind, PartTable, STATE_PART_BYTES};
pub use term::{ArchiveLabel, ArchiveTerm, ArchiveTerms};
pub use trailer::{ARCHIVE_TRAILER_BYTES, ARCHIVE_TRAILER_MAGIC, ArchiveTrailer};
pub use writer::{ArchivePlan, ArchiveSecrets, ArchiveWriter, ArchivedState, Facts, FinishedArchive};
