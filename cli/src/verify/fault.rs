//! What verification finds: a fault, or a gap in what could be checked.

use std::fmt;

use bitacora_formats::{
    BodyError, CompressionError, Damage, DamageKind, FrameOpenError, PartError, Position, RecordError,
    SegmentError, SigningChainError, TreeHash,
};

/// A place in the ledger's files that is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, relative to the ledger's folder.
    pub file: String,
    /// Where the damaged thing begins, in bytes.
    pub offset: u64,
    /// The first position that it may touch.
    pub first_position: u64,
    /// The last one, where it is known; else everything from the first on may be touched.
    pub last_position: Option<u64>,
    /// What was expected and what was found.
    pub kind: Box<FaultKind>,
    /// Whether a write that was cut short explains it; then opening the ledger sets it aside and goes on.
    pub torn: bool,
}

/// The check that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The bytes or the chain do not hold.
    #[error(transparent)]
    Damage(#[from] DamageKind),
    /// A segment's file is not there, and a later one is.
    #[error("a segment expected, none found; {next} is there")]
    Missing {
        /// The next file that is there.
        next: String,
    },
    /// A segment holds only zeros, and a later one is written.
    #[error("a written segment expected, only zeros found; {next} is written")]
    Blank {
        /// The next file.
        next: String,
    },
    /// There is not one written segment.
    #[error("a ledger's first segment expected, none found")]
    Empty,
    /// A header that no frame follows.
    #[error("a frame behind the segment's header expected, none found")]
    NoFrame,
    /// The note of signing keys does not hold.
    #[error(transparent)]
    Note(#[from] SigningChainError),
    /// The segment was certified with another key than the ledger's of that number.
    #[error("signing key {number} to be {expected} expected, {found} found")]
    Signer {
        /// The key's number in the chain.
        number: u32,
        /// The ledger's key of that number.
        expected: String,
        /// The one that the segment names.
        found: String,
    },
    /// The segment names a signing key that the ledger does not have.
    #[error("a signing key numbered 1 to {known} expected, number {found} found")]
    UnknownSigner {
        /// How many keys the ledger has.
        known: u32,
        /// The number that the segment names.
        found: u32,
    },
    /// The segment was certified with a key that an earlier segment had left behind.
    #[error("signing key {expected} or a later one expected, number {found} found")]
    RetiredSigner {
        /// The number in the segment before.
        expected: u32,
        /// The number in this one.
        found: u32,
    },
    /// The frame does not open.
    #[error(transparent)]
    Open(#[from] FrameOpenError),
    /// The frame's body is not what the sequencer writes.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A record does not decode.
    #[error("a record expected, {0}")]
    Record(RecordError),
    /// A sealed part does not belong to its record.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A sealed part opens to what no encoder writes.
    #[error("a sealed part expected, {0}")]
    PartRecord(RecordError),
    /// A record has a seal and no part, or the other way round.
    #[error("{expected} expected, {found} found")]
    PartPresence {
        /// What the record says.
        expected: &'static str,
        /// What lies beside it.
        found: &'static str,
    },
    /// The records give another tree.
    #[error("tree root {expected} expected, {found} found in its records")]
    TreeRoot {
        /// The root that the frame names.
        expected: TreeHash,
        /// The root over its records.
        found: TreeHash,
    },
    /// A stream has a gap, or a version twice.
    #[error("version {expected} of its stream expected, {found} found")]
    StreamVersion {
        /// The next version.
        expected: u64,
        /// The one that stands there.
        found: u64,
    },
    /// More streams than any ledger has.
    #[error("at most {max} streams expected, one more found")]
    Streams {
        /// The limit.
        max: usize,
    },
    /// The first event is not the making of this ledger.
    #[error("ledger.created with {what} {expected} expected, {found} found")]
    Genesis {
        /// Which of its parts.
        what: &'static str,
        /// What the folder says.
        expected: String,
        /// What the event says.
        found: String,
    },
}

/// Something that had to be checked and could not be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// A file or folder could not be read.
    #[error("{path}: {what}; nothing from here on was checked")]
    Unreadable {
        /// The path.
        path: String,
        /// What the system said.
        what: String,
    },
    /// The note of signing keys is gone.
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
        /// Which key is missing or wrong.
        source: SegmentError,
    },
    /// A data subject's key is there and cannot be used.
    #[error("{path}: {what}; sealed parts under this key were not checked")]
    SubjectKey {
        /// The key's file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// There is no memory for a decompressor.
    #[error("{source}; contents were not checked")]
    Memory {
        /// What failed.
        source: CompressionError,
    },
}

impl Fault {
    pub(super) fn of_damage(file: String, damage: &Damage, torn: bool) -> Self {
        Self {
            file,
            offset: damage.offset,
            first_position: damage.first_position.get(),
            last_position: damage.last_position.map(Position::get),
            kind: Box::new(damage.kind.into()),
            torn,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        if self.torn {
            "a write that was cut short, or rot in the last one; opening the ledger sets it aside and says so"
        } else {
            "restore this file from a copy that verifies"
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, first_position, last_position, kind, .. } = self;
        write!(f, "{file} at byte {offset}, ")?;
        match last_position {
            Some(last) if last == first_position => write!(f, "position {last}")?,
            Some(last) => write!(f, "positions {first_position} to {last}")?,
            None => write!(f, "positions from {first_position}")?,
        }
        write!(f, ": {kind}")
    }
}
