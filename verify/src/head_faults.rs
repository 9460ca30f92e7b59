//! The faults of tree heads and cosigned heads.

use bitacora_formats::{
    ChainHash, Commitment, CosignatureError, HeadedError, HeadsError, TreeHash, TreeHeadError,
};

/// The fault of a tree head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadFault {
    /// The file is not one of heads, or an entry of it is damaged.
    #[error(transparent)]
    File(#[from] HeadsError),
    /// The file is of another ledger or segment.
    #[error("found heads of {what} {found}, expected {expected}")]
    Of {
        /// The part of its header.
        what: &'static str,
        /// The value in the segment.
        expected: String,
        /// The value in the file of heads.
        found: String,
    },
    /// The note is not a tree head that one of the ledger's keys signed.
    #[error(transparent)]
    Note(#[from] TreeHeadError),
    /// It is signed as another ledger, or in another generation.
    #[error("found a tree head of {found}, expected {expected}")]
    Origin {
        /// The expected origin.
        expected: String,
        /// The origin in the head.
        found: String,
    },
    /// The heads do not grow: each covers its own event, which stands behind the head before it.
    #[error(
        "found one of size {size}, expected a tree head whose event at position {position} lies behind size {before} and under its own"
    )]
    Order {
        /// The position of its event.
        position: u64,
        /// The size of the head before it.
        before: u64,
        /// Its size.
        size: u64,
    },
    /// No frame of the segment ends where the head does.
    #[error(
        "found no frame that ends at position {size}, expected one, as a signed tree head says; what it covers was cut off or is of another history"
    )]
    Size {
        /// The size of the head.
        size: u64,
    },
    /// The frame that ends there states another root.
    #[error("found a signed tree head with root {found}, expected {expected}")]
    Root {
        /// The root that the frame states.
        expected: TreeHash,
        /// The root that was signed.
        found: TreeHash,
    },
    /// The event is not the one in the tree.
    #[error("found commitment {found} of the event that heads the tree, expected {expected}")]
    Commitment {
        /// The commitment in the leaf.
        expected: Commitment,
        /// The commitment from blind and record.
        found: Commitment,
    },
    /// The event names no stored bytes.
    #[error(transparent)]
    Event(#[from] HeadedError),
    /// The frame that the event names has another chain hash, or is none.
    #[error(
        "found chain hash {found} in the event that heads the tree, expected {expected} at position {size}"
    )]
    Hash {
        /// The position that it names.
        size: u64,
        /// The chain hash of the frame that ends there.
        expected: String,
        /// The chain hash that the event names.
        found: ChainHash,
    },
}

/// The fault of a cosigned head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CosignedFault {
    /// The head is not a tree head of this ledger, or not of a frame of its segment.
    #[error(transparent)]
    Head(#[from] HeadFault),
    /// The head is not a text.
    #[error("found bytes that are not UTF-8, expected a cosigned tree head")]
    NoText,
    /// The line under a known witness's name was not made by that witness.
    #[error(transparent)]
    Cosignature(#[from] CosignatureError),
}
