//! The reasons for which a store of archives did not do what it was asked.

use std::io;

use crate::limits::MAX_LISTED;
use crate::store::StoreError;

/// The reasons for which a store did not do what it was asked. Each names the object.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveStoreError {
    /// The store was not opened.
    #[error(transparent)]
    Open(#[from] StoreError),
    /// There is no such object, or no such bucket.
    #[error("{object}: not in the store; look whether it was moved or removed there")]
    Missing {
        /// The name of the object.
        object: String,
    },
    /// It was to be made, and is there already; it was not changed.
    #[error("{object}: already in the store; it was not changed")]
    Exists {
        /// The name of the object.
        object: String,
    },
    /// The store does not allow it, or cannot do it.
    #[error("{object}: the store refused: {reason}")]
    Refused {
        /// The name of the object.
        object: String,
        /// In the store's words.
        reason: String,
    },
    /// No answer came in time. The write may have taken effect.
    #[error("{object}: no answer from the store within {seconds} s; try again")]
    TimedOut {
        /// The name of the object.
        object: String,
        /// The time that it was waited for.
        seconds: u64,
    },
    /// Fewer bytes came than were asked for.
    #[error("{object}: {expected} bytes from byte {offset} on expected, {found} came; try again")]
    CutShort {
        /// The name of the object.
        object: String,
        /// The offset at which they begin.
        offset: u64,
        /// Bytes asked for.
        expected: u64,
        /// Bytes that came.
        found: u64,
    },
    /// It is another object than the one that was being read.
    #[error("{object}: changed in the store while it was being read; nothing of it was taken")]
    Changed {
        /// The name of the object.
        object: String,
    },
    /// More names than are taken of one list.
    #[error("{object}: more than {MAX_LISTED} names; this is no folder of archives")]
    TooMany {
        /// The name of the folder.
        object: String,
    },
    /// The source of the bytes to be written could not be read.
    #[error("{object}: what was to be written could not be read: {source}")]
    Source {
        /// The name of the object.
        object: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Anything else that a store says; it may go away.
    #[error("{object}: {reason}")]
    Failed {
        /// The name of the object.
        object: String,
        /// In the store's words.
        reason: String,
    },
}

impl ArchiveStoreError {
    /// Returns `true` if the store answered, and lacks or refuses this one object: it would say so again, and may give others.
    pub(crate) fn is_of_one_object(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Refused { .. } | Self::Changed { .. })
    }
}
