//! Errors of archiving events, and of reading archived ones.

use std::io;
use std::sync::Arc;

use bitacora_archive_format::{ArchiveError, ArchiveRange};
use bitacora_formats::Position;
use bitacora_ledger::{AppendError, ReadError, RecordExpiryError, ReleaseError, SavedStateError};

use crate::archive_store::ArchiveStoreError;

/// The reasons for which an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The store does not give it.
    #[error(transparent)]
    Store(#[from] ArchiveStoreError),
    /// It is not what it has to be.
    #[error("{object}: {source}")]
    Archive {
        /// The name of the object.
        object: String,
        /// The fault of the archive.
        source: ArchiveError,
    },
}

impl StoredError {
    /// Returns `true` where the stored bytes are wrong for good. Otherwise they may be there later, or open with another keyring.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Archive { source, .. } if !source.is_of_the_keyring())
    }

    /// Returns `true` if the store has no such archive.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Store(ArchiveStoreError::Missing { .. }))
    }

    /// Returns `true` if it is of this one archive, and would be again; otherwise the store may give none.
    pub(crate) fn is_of_one_archive(&self) -> bool {
        match self {
            Self::Archive { .. } => true,
            Self::Store(error) => error.is_of_one_object(),
        }
    }
}

/// The reasons for which the manifests that a ledger keeps of its archives cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestFolderError {
    /// The disk gave an error.
    #[error("{file}: {source}")]
    Disk {
        /// The path of the file.
        file: String,
        /// The error of the disk.
        source: io::Error,
    },
    /// A manifest is none of this ledger's.
    #[error("{file}: {source}")]
    Manifest {
        /// The path of the file.
        file: String,
        /// The fault of the manifest.
        source: ArchiveError,
    },
    /// Archives in a row have one missing between them, or before them.
    #[error("{file}: the archive before it, up to position {last}, has no manifest here")]
    Gap {
        /// The file behind the gap.
        file: String,
        /// The last position that is missing.
        last: u64,
    },
    /// Events that were let go have no manifest.
    #[error("{folder}: no manifest of an archive that holds them")]
    Missing {
        /// The folder in which it would be.
        folder: String,
    },
    /// Positions whose manifest is lost, and was not brought back from the store.
    #[error(
        "positions {first} to {last}: {error}; the store does not bring it back: {why}; bring their archive back"
    )]
    Lost {
        /// The first position.
        first: u64,
        /// The last position.
        last: u64,
        /// The fault of the manifest here.
        error: Arc<ManifestFolderError>,
        /// The reason for which the store did not bring it back.
        why: String,
    },
}

impl ManifestFolderError {
    /// Returns `true` if a file is what it should not be; otherwise it may be whole, or is not there.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Manifest { .. })
    }

    /// Returns `true` if the manifest of this position is lost.
    #[must_use]
    pub fn holds(&self, position: Position) -> bool {
        matches!(self, Self::Lost { first, last, .. } if (*first..=*last).contains(&position.get()))
    }

    /// Returns `true` if it is the loss that begins at this position.
    pub(crate) fn is_of(&self, position: u64) -> bool {
        matches!(self, Self::Lost { first, .. } if *first == position)
    }
}

/// The reasons for which events are not archived. Earlier archives stand; the next run goes on.
#[derive(Debug, thiserror::Error)]
pub enum ArchiverError {
    /// Somebody archives this ledger already.
    #[error("another process archives this ledger; wait for it")]
    Busy,
    /// It was told to end.
    #[error("ended before everything was archived; the next run goes on")]
    Stopped,
    /// The ledger signs nothing, so that nobody could trust its archives.
    #[error("the ledger signs no tree heads, so its archives could not be proven; open it with tree heads")]
    Unsigned,
    /// The ledger does not give its events.
    #[error(transparent)]
    Ledger(#[from] ReadError),
    /// The state that decides cannot be made.
    #[error(transparent)]
    State(#[from] SavedStateError),
    /// The ledger does not record it.
    #[error("the ledger did not record it: {0}")]
    Record(#[from] AppendError),
    /// No segment was let go.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The manifests of earlier archives are not known.
    #[error(transparent)]
    Kept(#[from] ManifestFolderError),
    /// No archive holds such positions.
    #[error(transparent)]
    Range(ArchiveError),
    /// The events do not become an archive.
    #[error("positions {range}: {source}")]
    Pack {
        /// The range of the archive.
        range: ArchiveRange,
        /// The error of packing it.
        source: ArchiveError,
    },
    /// The disk refuses what is packed.
    #[error("packing positions {range}: {source}; nothing was archived of them")]
    Disk {
        /// The range of the archive.
        range: ArchiveRange,
        /// The error of the disk.
        source: io::Error,
    },
    /// The system gives no random bytes for keys.
    #[error("no random bytes for the archive's key: {0}")]
    Entropy(io::Error),
    /// The store refuses it, or does not give back what it took.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// The removal of expired events is not recorded, so nothing is removed.
    #[error(transparent)]
    Expiry(#[from] RecordExpiryError),
    /// The content of an event stays that a revision of its archive does not hold: a hold or a policy came meanwhile.
    #[error(
        "the event at position {position} stays, because {why}; its archive stays as it is, and the next look compares again"
    )]
    StaysForNow {
        /// The event.
        position: Position,
        /// The reason.
        why: &'static str,
    },
    /// The object in the store is whole, but holds something else than the ledger does.
    #[error(
        "{object}: {what} at position {position} is not what the ledger holds; the archive was not accepted"
    )]
    Differs {
        /// The name of the object.
        object: String,
        /// From where on.
        position: Position,
        /// The part that differs.
        what: &'static str,
    },
}

impl From<ArchiveStoreError> for ArchiverError {
    fn from(error: ArchiveStoreError) -> Self {
        Self::Stored(error.into())
    }
}

impl ArchiverError {
    /// Returns `true` if content was to be removed that stays, because a hold or a policy came meanwhile. Nothing is recorded then.
    pub(crate) fn keeps_content(&self) -> bool {
        let is_recorded = |error: &RecordExpiryError| matches!(error, RecordExpiryError::Append(_));
        match self {
            Self::StaysForNow { .. } => true,
            Self::Expiry(error) => !is_recorded(error),
            _ => false,
        }
    }

    /// Returns `true` if a revision that was packed just now is not taken, and nothing records it.
    pub(crate) fn refuses_revision(&self) -> bool {
        self.keeps_content() || matches!(self, Self::Differs { .. })
    }

    /// Returns `true` if it is of one archive, and others can be looked at.
    pub(crate) fn is_of_one_archive(&self) -> bool {
        match self {
            Self::StaysForNow { .. }
            | Self::Differs { .. }
            | Self::Expiry(RecordExpiryError::HeldMeanwhile) => true,
            Self::Stored(error) => error.is_of_one_archive(),
            _ => false,
        }
    }

    /// Returns `true` if it is not known whether the log records something, because an archive that may hold the record is away.
    pub(crate) fn lacks_records(&self) -> bool {
        matches!(self, Self::Ledger(ReadError::Archive(_)))
    }

    /// Returns `true` if the bytes of an archive are wrong, so that no later try reads them.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Stored(StoredError::Archive { .. }))
    }

    /// Returns `true` if a look at expired events may find nothing in its way soon.
    #[must_use]
    pub fn may_succeed_soon(&self) -> bool {
        self.keeps_content()
    }
}
