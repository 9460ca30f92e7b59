//! The errors of an evidence bundle: because of each the bundle proves nothing.

use bitacora_formats::{
    Commitment, CosignatureError, KeyProblem, Position, ProofError, RecordError, SigningChainError,
    TreeHeadError,
};

use super::MAX_BUNDLE_BYTES;

/// An error because of which a bundle proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The file is longer than a bundle can be.
    #[error("found more than {MAX_BUNDLE_BYTES} bytes, expected a bundle of at most that many")]
    TooLong,
    /// The file is no tar archive of plain files.
    #[error("byte {offset}: {what}; expected a tar archive of plain files; obtain the bundle again")]
    Archive {
        /// The offset in the file.
        offset: usize,
        /// The fault.
        what: &'static str,
    },
    /// The archive has a member that a bundle does not have there.
    #[error("found the member {found:?}, expected {expected}; nothing of it is unpacked")]
    Member {
        /// The name in the archive.
        found: String,
        /// The name that is expected there.
        expected: String,
    },
    /// The archive ends before its last member.
    #[error("found no member {missing}; obtain the bundle again")]
    Missing {
        /// The name of the member.
        missing: &'static str,
    },
    /// A member is not of its form.
    #[error("{member}: {what}")]
    Form {
        /// The name of the member.
        member: &'static str,
        /// The fault.
        what: String,
    },
    /// A member is not the one that the manifest lists.
    #[error("{member}: found {found}, expected {expected} by the manifest; obtain the bundle again")]
    Digest {
        /// The name of the member.
        member: &'static str,
        /// The length or digest of the member.
        found: String,
        /// The length or digest in the manifest.
        expected: String,
    },
    /// The signing keys do not hold.
    #[error(transparent)]
    SigningKeys(#[from] SigningChainError),
    /// A tree head shows nothing.
    #[error("{member}: {source}")]
    TreeHead {
        /// The name of the member.
        member: &'static str,
        /// The error of the tree head.
        source: TreeHeadError,
    },
    /// A cosignature does not hold.
    #[error(transparent)]
    Cosignature(#[from] CosignatureError),
    /// A known key is not the ledger's, or is of no use for this head.
    #[error("{key}: {problem}")]
    Key {
        /// The key.
        key: String,
        /// The problem with the key.
        problem: KeyProblem,
    },
    /// Two members disagree.
    #[error("{what}: found {found}, expected {expected}")]
    Differs {
        /// The thing that is said twice.
        what: &'static str,
        /// The second statement.
        found: String,
        /// The first statement.
        expected: String,
    },
    /// The tree head does not cover an event.
    #[error("the tree does not hold the event at position {position}: {source}")]
    Proof {
        /// The position.
        position: Position,
        /// The error of the proof.
        source: ProofError,
    },
    /// A record is not the one that was committed to.
    #[error("position {position}: blind and record give the commitment {found}, expected {expected}")]
    Commitment {
        /// The position.
        position: Position,
        /// The commitment that blind and record give.
        found: Commitment,
        /// The commitment in the tree.
        expected: Commitment,
    },
    /// A record that was committed to is none.
    #[error("position {position}: the record cannot be read: {source}")]
    Record {
        /// The position.
        position: Position,
        /// The error of the record.
        source: RecordError,
    },
    /// The line of an event is not what its record says.
    #[error("position {position}: {what}")]
    Event {
        /// The position.
        position: Position,
        /// The fault.
        what: String,
    },
    /// A position is missing, or stands where it does not belong.
    #[error("found position {found}, expected {expected}")]
    Place {
        /// The position of the event.
        found: String,
        /// The positions that may stand there.
        expected: String,
    },
}
