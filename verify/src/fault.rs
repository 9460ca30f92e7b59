//! The faults that a verification finds.

use std::fmt;

pub use super::gap::Gap;
use super::head_faults::{CosignedFault, HeadFault};

use bitacora_archive_format::ArchiveError;
use bitacora_formats::{
    BodyError, Commitment, Damage, DamageKind, FrameOpenError, KeyProblem, LeavesError, LevelsError,
    PartError, Position, RecordError, ReleasedError, SigningChainError, TreeHash,
};

/// An invalid place in the ledger's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, relative to the ledger's folder.
    pub file: String,
    /// The offset of the damaged part, in bytes.
    pub offset: u64,
    /// The first position that it may affect.
    pub first_position: u64,
    /// The last position that it may affect, if it is known; otherwise everything from the first on.
    pub last_position: Option<u64>,
    /// The found and the expected value.
    pub kind: Box<FaultKind>,
    /// Set when a write that was cut short explains it. Then opening the ledger sets it aside and goes on.
    pub torn: bool,
}

/// The check that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The bytes or the chain are invalid.
    #[error(transparent)]
    Damage(#[from] DamageKind),
    /// A segment's file is missing, and a later one is there.
    #[error("found none, expected a segment; {next} is there")]
    Missing {
        /// The next file that is there.
        next: String,
    },
    /// A segment holds only zeros, and a later one is written.
    #[error("found only zeros, expected a written segment; {next} is written")]
    Blank {
        /// The next file.
        next: String,
    },
    /// There is not one written segment.
    #[error("found none, expected a ledger's first segment")]
    Empty,
    /// The file of a released segment is invalid.
    #[error(transparent)]
    Released(#[from] ReleasedError),
    /// An archive, or its manifest, is invalid.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A segment does not begin as the archives say.
    #[error("found another, expected {what}")]
    ArchivedSegment {
        /// The part that differs.
        what: &'static str,
    },
    /// An archive is not the revision that the log records last.
    #[error(
        "found revision {found} of an archive, expected revision {expected}, whose removal of expired content event {event} records"
    )]
    ArchiveRevision {
        /// The number of the revision, 0 for the first one.
        found: u64,
        /// The number of the recorded revision.
        expected: u64,
        /// The event.
        event: u64,
    },
    /// An archive is a later revision, and no event records it.
    #[error("found revision {found} of an archive, expected an event retention.expired that records it")]
    UnrecordedRevision {
        /// The number of the revision.
        found: u64,
    },
    /// Content is removed, and no event records its removal.
    #[error(
        "found content removed under the policy of event {policy}, expected an event retention.expired that records it"
    )]
    UnrecordedRemoval {
        /// The event that is said to have set the policy.
        policy: u64,
    },
    /// A group of leaves is not the one in the archives.
    #[error(
        "found root {found} of the leaves of positions {first} to {last}, expected {expected}, which the archives have"
    )]
    ArchivedGroup {
        /// The position of the group's first leaf.
        first: u64,
        /// The position of its last one.
        last: u64,
        /// The root in the archives.
        expected: TreeHash,
        /// The root over the leaves.
        found: TreeHash,
    },
    /// A header that no frame follows.
    #[error("found none, expected a frame behind the segment's header")]
    NoFrame,
    /// The note of signing keys is invalid.
    #[error(transparent)]
    Note(#[from] SigningChainError),
    /// The segment was certified with another key than the ledger's of that number.
    #[error("found {found} as signing key {number}, expected {expected}")]
    Signer {
        /// The key's number in the chain.
        number: u32,
        /// The ledger's key of that number.
        expected: String,
        /// The key that the segment names.
        found: String,
    },
    /// The note has another key than the one that certified the ledger's first segment.
    #[error(
        "found {found} as signing key {number} in {file}, expected {expected}; the note is damaged, or the segments are another ledger's"
    )]
    NoteKey {
        /// The key's number in the chain.
        number: u32,
        /// The key that the segment names.
        expected: String,
        /// The key in the note.
        found: String,
        /// The segment's file.
        file: String,
    },
    /// The segment names a signing key that the ledger does not have.
    #[error("found signing key {found}, expected 1 to {known}")]
    UnknownSigner {
        /// The number of keys that the ledger has.
        known: u32,
        /// The number that the segment names.
        found: u32,
    },
    /// The segment was certified with a key that an earlier segment had left behind.
    #[error("found signing key {found}, expected {expected} or later")]
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
    /// A sealed part opens to bytes that no encoder writes.
    #[error("a sealed part expected, {0}")]
    PartRecord(RecordError),
    /// A record has a seal and no part, or the other way round.
    #[error("found {found}, expected {expected}")]
    PartPresence {
        /// The record's claim.
        expected: &'static str,
        /// The part's presence beside it.
        found: &'static str,
    },
    /// The records give another tree.
    #[error("found records that make tree root {found}, expected {expected}")]
    TreeRoot {
        /// The root that the frame names.
        expected: TreeHash,
        /// The root over its records.
        found: TreeHash,
    },
    /// The file of leaves has an invalid beginning.
    #[error(transparent)]
    Leaves(#[from] LeavesError),
    /// The file of leaves is of another segment.
    #[error("found leaves of {what} {found}, expected {expected}")]
    LeavesOf {
        /// The part of its header.
        what: &'static str,
        /// The value in the segment.
        expected: String,
        /// The value in the file of leaves.
        found: String,
    },
    /// A leaf has another time than its frame.
    #[error("found a leaf of time {found}, expected the frame's time {expected}")]
    LeafTime {
        /// The frame's time, in microseconds since 1970.
        expected: u64,
        /// The leaf's.
        found: u64,
    },
    /// A leaf does not commit to its record.
    #[error("found a leaf with commitment {found}, expected {expected}")]
    LeafCommitment {
        /// The commitment to the record.
        expected: Commitment,
        /// The commitment in the leaf.
        found: Commitment,
    },
    /// The leaves give another tree.
    #[error("found leaves that make tree root {found}, expected {expected}")]
    LeavesRoot {
        /// The root that the frame names.
        expected: TreeHash,
        /// The root over the leaves.
        found: TreeHash,
    },
    /// Something follows the last leaf of an ended segment.
    #[error("found {found} bytes of leaves, expected {expected}")]
    LeavesBytes {
        /// Bytes with the segment's last leaf.
        expected: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// The file of leaves ends before the segment's last leaf, although a later opening rebuilt missing ones.
    #[error(
        "the file ends before the segment's last leaf, and a later opening has made missing ones again; it was cut since"
    )]
    LeavesCut,
    /// The stored level has an invalid beginning.
    #[error(transparent)]
    Level(#[from] LevelsError),
    /// The stored level is of another ledger.
    #[error("found a level of the tree of ledger {found}, expected {expected}")]
    LevelOf {
        /// The ledger.
        expected: String,
        /// The ledger in the level's header.
        found: String,
    },
    /// The stored level ends before the root of a group of leaves that an epoch before the last one completed.
    #[error(
        "the file ends before the root of positions {first} to {last}, and a later opening has stored missing ones again; it was cut since"
    )]
    LevelCut {
        /// The first position of the group.
        first: u64,
        /// Its last one.
        last: u64,
    },
    /// The stored level has another root for a group of leaves.
    #[error("found root {found} of the leaves {first} to {last}, expected {expected}")]
    LevelRoot {
        /// The position of the group's first leaf.
        first: u64,
        /// The position of its last one.
        last: u64,
        /// The root over the leaves.
        expected: TreeHash,
        /// The stored root.
        found: TreeHash,
    },
    /// A tree head beside the segment is invalid.
    #[error(transparent)]
    Head(HeadFault),
    /// A cosigned head beside the segment is invalid.
    #[error(transparent)]
    Cosigned(CosignedFault),
    /// A key that the verifier knows is not one of the ledger's.
    #[error("{key}: {problem}")]
    TrustedKey {
        /// The key.
        key: String,
        /// The fault of the key.
        problem: KeyProblem,
    },
    /// A stream has a gap, or a version twice.
    #[error("found version {found} of its stream, expected {expected}")]
    StreamVersion {
        /// The next version.
        expected: u64,
        /// The version found there.
        found: u64,
    },
    /// More streams than any ledger has.
    #[error("found one more, expected at most {max} streams")]
    Streams {
        /// The limit.
        max: usize,
    },
    /// The first event is not the creation of this ledger.
    #[error("found ledger.created with {what} {found}, expected {expected}")]
    Genesis {
        /// The part of the event.
        what: &'static str,
        /// The value in the folder.
        expected: String,
        /// The value in the event.
        found: String,
    },
    /// The first event of a generation does not declare the loss that it began with.
    #[error("found ledger.recovered with {what} {found}, expected {expected}")]
    Recovered {
        /// The part of the event.
        what: &'static str,
        /// The value by the segments before it.
        expected: String,
        /// The value in the event.
        found: String,
    },
}

impl Fault {
    /// Returns a fault that no torn write explains.
    pub(super) fn at(
        file: String,
        offset: u64,
        first: Position,
        last: Option<Position>,
        kind: FaultKind,
    ) -> Self {
        Self {
            file,
            offset,
            first_position: first.get(),
            last_position: last.map(Position::get),
            kind: Box::new(kind),
            torn: false,
        }
    }

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

    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        if self.kind.checks() == EvidenceKind::Leaf {
            "leaves, and the level above them, are made again from the segments when the ledger is opened for writing, with its keyring"
        } else if let FaultKind::TrustedKey { .. } = *self.kind {
            "ask who gave you the key; if it is right, this is not the ledger that it belongs to"
        } else if self.kind.checks() == EvidenceKind::Cosignature {
            "restore this file from a copy that verifies, or put it aside: the service has a later head cosigned, and this one is lost"
        } else if let FaultKind::NoteKey { .. } | FaultKind::Note(_) = *self.kind {
            "opening the ledger with its keyring writes the note again; a key that you know, with --vkey, tells whose the segments are"
        } else if self.torn {
            "a write that was cut short, or rot in the last one; opening the ledger sets it aside and says so"
        } else {
            "restore this file from a copy that verifies"
        }
    }
}

/// The kinds of evidence that a fault can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceKind {
    /// A segment's bytes and its place in the chain.
    Segment,
    /// The allowed signers.
    SigningKeys,
    /// The leaves beside a valid segment, or the stored tree above them.
    Leaf,
    /// The tree heads beside a valid segment.
    Head,
    /// A cosigned head beside a valid segment.
    Cosignature,
    /// An archive, its manifest, or their claims about segments that are still here.
    Archive,
    /// The contents of a segment's opened frames.
    Record,
}

impl FaultKind {
    /// Returns the kind of evidence that it is a fault of.
    #[must_use]
    pub fn checks(&self) -> EvidenceKind {
        match self {
            Self::Damage(_)
            | Self::Missing { .. }
            | Self::Blank { .. }
            | Self::Empty
            | Self::NoFrame
            | Self::Released(_)
            | Self::ArchivedSegment { .. } => EvidenceKind::Segment,
            Self::Archive(_)
            | Self::ArchivedGroup { .. }
            | Self::ArchiveRevision { .. }
            | Self::UnrecordedRevision { .. }
            | Self::UnrecordedRemoval { .. } => EvidenceKind::Archive,
            Self::Note(_)
            | Self::Signer { .. }
            | Self::NoteKey { .. }
            | Self::UnknownSigner { .. }
            | Self::RetiredSigner { .. }
            | Self::TrustedKey { .. } => EvidenceKind::SigningKeys,
            Self::Head(_) => EvidenceKind::Head,
            Self::Cosigned(_) => EvidenceKind::Cosignature,
            Self::Leaves(_)
            | Self::LeavesOf { .. }
            | Self::LeafTime { .. }
            | Self::LeafCommitment { .. }
            | Self::LeavesRoot { .. }
            | Self::LeavesBytes { .. }
            | Self::LeavesCut
            | Self::Level(_)
            | Self::LevelOf { .. }
            | Self::LevelCut { .. }
            | Self::LevelRoot { .. } => EvidenceKind::Leaf,
            Self::Open(_)
            | Self::Body(_)
            | Self::Record(_)
            | Self::Part(_)
            | Self::PartRecord(_)
            | Self::PartPresence { .. }
            | Self::TreeRoot { .. }
            | Self::StreamVersion { .. }
            | Self::Streams { .. }
            | Self::Genesis { .. }
            | Self::Recovered { .. } => EvidenceKind::Record,
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
