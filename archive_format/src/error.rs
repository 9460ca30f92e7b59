//! The errors of archives: in reading one, and in making one.

use super::range::{ArchiveRange, GROUP_LEAVES};
use crate::ColumnsError;
use bitacora_formats::Position;
use bitacora_formats::limits::{
    MAX_ARCHIVE_GROUPS, MAX_ARCHIVE_PARTS, MAX_MANIFEST_BYTES, MAX_MANIFEST_LINES,
};
use bitacora_formats::{
    CompressionError, KekId, NoteError, ProofError, RecordError, SigningChainError, TreeHeadError,
};

/// An error in reading an archive, or in making one of events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// Not whole groups of leaves, none, or more than an archive takes.
    #[error(
        "positions {first} to {last}: an archive holds whole groups of {GROUP_LEAVES} events, at least one, in at most {MAX_ARCHIVE_GROUPS} parts"
    )]
    Range {
        /// The first position.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// The bytes end within something.
    #[error("{what} of an archive: found {found} bytes, expected {needed} or more; it was cut short")]
    Truncated {
        /// The thing that is cut short.
        what: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Nothing of the kind begins or ends so.
    #[error("found {}, expected {what} of an archive", hex::encode(.found))]
    Magic {
        /// The magic that is missing.
        what: &'static str,
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format that this version cannot read.
    #[error("an archive of format {found}; this version reads format 1, a newer one may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// Reserved bytes are not zero.
    #[error("{what} of an archive: what is reserved is not zero; a newer version may read it")]
    Reserved {
        /// The place of the reserved bytes.
        what: &'static str,
    },
    /// More than an archive can have.
    #[error("{what} of an archive is larger than any that is taken")]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
    },
    /// Two places of the archive say different things.
    #[error("{field}: found {found}, expected {expected}; the archive contradicts itself")]
    Disagrees {
        /// The field that both places state.
        field: &'static str,
        /// The value in one place.
        expected: u64,
        /// The value in the other place.
        found: u64,
    },
    /// An archive of another ledger or another generation, or of other positions, than the one that is wanted.
    #[error("an archive of {found}; {expected} is wanted")]
    Other {
        /// The ledger, generation or range that was wanted.
        expected: String,
        /// The ledger, generation or range of the archive.
        found: String,
    },
    /// A part of the table is no part that this version knows, or stands in another's place.
    #[error("part {number} of the archive cannot be: {problem}")]
    Part {
        /// Its place in the table, from 0.
        number: u32,
        /// The problem with the part.
        problem: &'static str,
    },
    /// The bytes are not those that the digest was made of.
    #[error("{what} of the archive is not what its digest was made of; fetch it again from the store")]
    Digest {
        /// The part whose digest is wrong.
        what: String,
    },
    /// The tree does not come to the root that is stated.
    #[error("{what} of the tree is not that of the hashes below it; do not trust the archive")]
    Tree {
        /// The part of the tree that is wrong.
        what: &'static str,
    },
    /// The manifest is none.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The keyring lacks the key-encryption key.
    #[error("the keyring has no key {id}, under which this archive's key is wrapped")]
    KeyMissing {
        /// The key's id.
        id: KekId,
    },
    /// The key-encryption key was moved into an offline keyring.
    #[error(
        "key {id}, under which this archive's key is wrapped, was retired; bring it back with `bitacora keys restore`"
    )]
    KeyRetired {
        /// The key's id.
        id: KekId,
    },
    /// The keyring's key of that id does not unwrap the data key.
    #[error("key {id} of the keyring does not open this archive; use the keyring of its ledger")]
    WrongKey {
        /// The key's id.
        id: KekId,
    },
    /// The part was not sealed for this place of this archive.
    #[error("part {number} of the archive does not open; it was not sealed for this place of this archive")]
    NotAuthentic {
        /// Its place in the table, from 0.
        number: u32,
    },
    /// The opened part cannot be decompressed.
    #[error("part {number} of the archive: {source}")]
    Compression {
        /// Its place in the table, from 0.
        number: u32,
        /// The error of the decompressor.
        source: CompressionError,
    },
    /// A group's columns cannot be written or read.
    #[error("events of the archive from position {first} on: {source}")]
    Columns {
        /// The group's first position.
        first: Position,
        /// The error of the columns.
        source: ColumnsError,
    },
    /// A record cannot be read.
    #[error("the record at position {position}: {source}")]
    Record {
        /// The position of the record.
        position: Position,
        /// The error of the record.
        source: RecordError,
    },
    /// The index is not one that is written.
    #[error("the index of the archive is malformed: {problem}")]
    Index {
        /// The problem with the index.
        problem: &'static str,
    },
    /// The events contradict the manifest or the index.
    #[error("{what} of the archive does not agree with its events; do not trust it")]
    Contents {
        /// The statement that disagrees with the events.
        what: &'static str,
    },
    /// More parts than an archive takes.
    #[error(
        "more than {MAX_ARCHIVE_GROUPS} groups of events or {MAX_ARCHIVE_PARTS} parts; archive a shorter range"
    )]
    TooManyParts,
    /// More than one archive takes of something.
    #[error("more {what} than one archive takes; archive a shorter range")]
    TooMuch {
        /// The things of which there are too many.
        what: &'static str,
    },
    /// Events that do not follow those before them.
    #[error("events from {found} on, where those from {expected} on are due")]
    OutOfTurn {
        /// The position that is due.
        expected: u64,
        /// The position there is.
        found: u64,
    },
    /// No memory for the working space of zstd.
    #[error(transparent)]
    Zstd(CompressionError),
    /// An archive does not go on from the one before it.
    #[error("archive {later} does not go on from archive {earlier}: {what} differs")]
    Neighbour {
        /// The earlier one.
        earlier: ArchiveRange,
        /// The later one.
        later: ArchiveRange,
        /// The property that differs.
        what: &'static str,
    },
}

impl ArchiveError {
    /// Returns `true` if an archive of fewer events may still be possible.
    #[must_use]
    pub const fn is_too_much(&self) -> bool {
        matches!(
            self,
            Self::TooManyParts
                | Self::TooMuch { .. }
                | Self::Manifest(ManifestError::TooMany { .. } | ManifestError::TooLong { .. })
        )
    }
}

/// An error in the text of a manifest, or a contradiction to its keys or history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// More text than a manifest can have.
    #[error("not a manifest: {bytes} bytes; at most {MAX_MANIFEST_BYTES} are taken")]
    TooLong {
        /// Bytes there are.
        bytes: usize,
    },
    /// Not UTF-8.
    #[error("not a manifest: not utf-8")]
    NotText,
    /// The first line is another one.
    #[error("not a manifest: the first line must be '{}'", super::MANIFEST_FIRST_LINE)]
    FirstLine,
    /// The first line names another version.
    #[error("a manifest of another version; this program reads '{}'", super::MANIFEST_FIRST_LINE)]
    Version,
    /// Another line is due.
    #[error("manifest line {line}: '{form}' expected")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The form of the line that is expected.
        form: &'static str,
    },
    /// The lines contradict one another.
    #[error("the manifest contradicts itself: {problem}")]
    Contradiction {
        /// The contradiction.
        problem: &'static str,
    },
    /// More lines of one kind than are taken.
    #[error("more than {MAX_MANIFEST_LINES} lines '{keyword}'; archive a shorter range")]
    TooMany {
        /// The word they begin with.
        keyword: &'static str,
    },
    /// It is no signed note, or the ledger did not sign it.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// A manifest bears the ledger's signature and no other.
    #[error("the manifest has {found} signatures; exactly the ledger's is expected")]
    Signatures {
        /// The number of signatures.
        found: usize,
    },
    /// The signing keys in it are none.
    #[error(transparent)]
    SigningKeys(#[from] SigningChainError),
    /// The signing keys in it are not those of the ledger that is known.
    #[error("the manifest's signing keys are not those of the ledger; do not trust it")]
    OtherKeys,
    /// The tree head in it is none, or the ledger did not sign it.
    #[error("the tree head of the manifest: {0}")]
    TreeHead(#[from] TreeHeadError),
    /// The tree head in it is of another history.
    #[error("the tree head of the manifest is not of this history: {0}")]
    Consistency(#[from] ProofError),
}

impl ArchiveError {
    /// `true`: the archive may be whole, and the keyring lacks the key that opens it.
    #[must_use]
    pub const fn is_of_the_keyring(&self) -> bool {
        matches!(self, Self::KeyMissing { .. } | Self::KeyRetired { .. })
    }
}
