//! Why bytes are not an archive, or events do not become one.

use super::range::{ArchiveRange, GROUP_LEAVES};
use crate::ids::Position;
use crate::limits::{MAX_ARCHIVE_GROUPS, MAX_ARCHIVE_PARTS, MAX_MANIFEST_BYTES, MAX_MANIFEST_LINES};
use crate::{
    ColumnsError, CompressionError, KekId, NoteError, ProofError, RecordError, SigningChainError,
    TreeHeadError,
};

/// Why bytes are not the archive that they should be, or events do not become one.
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
    #[error("{what} of an archive: {needed} bytes or more expected, {found} found; it was cut short")]
    Truncated {
        /// What is not whole.
        what: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Nothing of the kind begins or ends so.
    #[error("{what} of an archive expected, {} found", hex::encode(.found))]
    Magic {
        /// What is missing.
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
    /// What is reserved is not zero.
    #[error("{what} of an archive: what is reserved is not zero; a newer version may read it")]
    Reserved {
        /// Where.
        what: &'static str,
    },
    /// More than an archive can have.
    #[error("{what} of an archive is larger than any that is taken")]
    TooLarge {
        /// What is.
        what: &'static str,
    },
    /// Two places of the archive say different things.
    #[error("{field}: {expected} expected, {found} found; the archive contradicts itself")]
    Disagrees {
        /// What they speak of.
        field: &'static str,
        /// What one says.
        expected: u64,
        /// What the other says.
        found: u64,
    },
    /// An archive of another ledger or another generation, or of other positions, than the one that is wanted.
    #[error("an archive of {found}; {expected} is wanted")]
    Other {
        /// What was wanted.
        expected: String,
        /// What it is of.
        found: String,
    },
    /// A part of the table is no part that this version knows, or stands in another's place.
    #[error("part {number} of the archive cannot be: {problem}")]
    Part {
        /// Its place in the table, from 0.
        number: u32,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The bytes are not those that the digest was made of.
    #[error("{what} of the archive is not what its digest was made of; fetch it again from the store")]
    Digest {
        /// What is not.
        what: String,
    },
    /// The tree does not come to the root that is stated.
    #[error("{what} of the tree is not that of the hashes below it; do not trust the archive")]
    Tree {
        /// What is wrong.
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
    /// What was sealed cannot be decompressed.
    #[error("part {number} of the archive: {source}")]
    Compression {
        /// Its place in the table, from 0.
        number: u32,
        /// What is wrong.
        source: CompressionError,
    },
    /// A group's columns cannot be written or read.
    #[error("events of the archive from position {first} on: {source}")]
    Columns {
        /// The group's first position.
        first: Position,
        /// What is wrong.
        source: ColumnsError,
    },
    /// A record cannot be read.
    #[error("the record at position {position}: {source}")]
    Record {
        /// Where.
        position: Position,
        /// What is wrong.
        source: RecordError,
    },
    /// The index is not one that is written.
    #[error("the index of the archive is malformed: {problem}")]
    Index {
        /// What is wrong.
        problem: &'static str,
    },
    /// What the events say is not what the manifest or the index says.
    #[error("{what} of the archive does not agree with its events; do not trust it")]
    Contents {
        /// What does not.
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
        /// Of what.
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
        /// What differs.
        what: &'static str,
    },
}

impl ArchiveError {
    /// Whether an archive of fewer events may be made where this one could not be.
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

/// Why a text is not a manifest, or shows nothing.
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
        /// How such a line reads.
        form: &'static str,
    },
    /// What the lines say together cannot be.
    #[error("the manifest contradicts itself: {problem}")]
    Contradiction {
        /// What cannot be.
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
        /// How many there are.
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
