//! The gaps of a verification: what it could not check.

use bitacora_formats::{CompressionError, Generation, SegmentError};

/// Something that had to be checked and could not be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// The events are in archives alone, and the archive is missing or does not open.
    #[error("positions {first} to {last} are archived, and were not checked: {what}")]
    Archive {
        /// The first position.
        first: u64,
        /// The last one.
        last: u64,
        /// The reason.
        what: String,
    },
    /// An archive is a later revision, and the event that would record it is among those that were lost.
    #[error(
        "found revision {found} of the archive of positions {first} to {last}, and no event records it: events behind position {retained} were lost before generation {generation}; that the ledger removed the expired content was not checked"
    )]
    RevisionRecordLost {
        /// The first position.
        first: u64,
        /// The last one.
        last: u64,
        /// The number of the revision.
        found: u64,
        /// The last position before the loss.
        retained: u64,
        /// The generation that declares the loss.
        generation: Generation,
    },
    /// A file or folder could not be read.
    #[error("{path}: {what}; nothing from here on was checked")]
    Unreadable {
        /// The path.
        path: String,
        /// The system's error.
        what: String,
    },
    /// A `.released` file without a signature and without a footer.
    #[error(
        "{file}: found format 1, whose times and footer are covered by a checksum alone: open the ledger for writing, which signs the file"
    )]
    UnsignedReleased {
        /// The file.
        file: String,
    },
    /// The note of signing keys is missing.
    #[error("{file}: missing; that the segments were signed with the ledger's keys was not checked")]
    NoNote {
        /// The file.
        file: String,
    },
    /// The keyring does not open a segment.
    #[error("{file}: {source}; contents from position {first_position} on were not checked")]
    Key {
        /// The file.
        file: String,
        /// The first position whose contents were not checked.
        first_position: u64,
        /// The missing or wrong key.
        source: SegmentError,
    },
    /// A data subject's key is there and cannot be used.
    #[error("{path}: {what}; sealed parts under this key were not checked")]
    SubjectKey {
        /// The key's file.
        path: String,
        /// The fault of the key's file.
        what: String,
    },
    /// Keys of data subjects are missing, and the log does not record that they were erased.
    #[error(
        "{lost} keys of data subjects are not in subjects/, and the log records no erasure of them; what is sealed under lost keys is lost with them: restore subjects/ from a copy"
    )]
    SubjectKeysLost {
        /// The keys that records name, that are missing, and whose erasure the log does not record.
        lost: u64,
    },
    /// Keys of data subjects are there, and the log records that they were erased.
    #[error(
        "{keys} erased keys of data subjects are in subjects/ again, the one that event {event} erased among them; what was sealed under them can be read: opening the ledger for writing destroys them"
    )]
    ErasedKeysHeld {
        /// The number of them.
        keys: u64,
        /// The first event that records the erasure of one.
        event: u64,
    },
    /// A file of leaves is there and cannot be read.
    #[error(
        "{file}: {what}; the leaves from position {first_position} on to the segment's end were not checked"
    )]
    Leaves {
        /// The file.
        file: String,
        /// The system's error.
        what: String,
        /// The first position whose leaf was not checked.
        first_position: u64,
    },
    /// The stored level is there and cannot be read.
    #[error("{file}: {what}; the stored level of the tree was not checked")]
    Level {
        /// The file.
        file: String,
        /// The system's error.
        what: String,
    },
    /// Leaves were asked for and are missing.
    #[error(
        "the leaves of {events} events, the first at position {first_position}, are not there; that these stand in the tree was not checked by them"
    )]
    NoLeaves {
        /// The number of them.
        events: u64,
        /// The first one's position.
        first_position: u64,
    },
    /// A file of tree heads is there and cannot be read.
    #[error("{file}: {what}; the tree heads in it were not checked")]
    Heads {
        /// The file.
        file: String,
        /// The system's error.
        what: String,
    },
    /// A head that the verifier brought cannot be used.
    #[error("{file}: {what}; the ledger was not compared with it")]
    KnownHead {
        /// The file.
        file: String,
        /// The fault of the head's file.
        what: String,
    },
    /// Witnesses were asked for, and too few of them cosigned.
    #[error(
        "no tree head beside the segments is cosigned by enough of the witnesses that you named: {heads} cosigned heads are there, none with more than {most} of their cosignatures"
    )]
    NotWitnessed {
        /// The cosigned heads that are there.
        heads: u64,
        /// The most cosignatures by the named witnesses that one of them has.
        most: usize,
    },
    /// There is no memory for a decompressor.
    #[error("{source}; contents were not checked")]
    Memory {
        /// The decompressor's error.
        source: CompressionError,
    },
}
