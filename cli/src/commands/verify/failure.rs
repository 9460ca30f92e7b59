//! The reasons why nothing was verified.

use std::io;

use crate::data_folder::anchor::NotRecalled;
use crate::error::CommandFailure;
use crate::exit::Exit;
use crate::keys::keyring_file::KeyringFileError;

/// The reason why nothing was verified.
#[derive(Debug, thiserror::Error)]
pub(super) enum VerifyFailure {
    /// The keyring is missing or unusable.
    #[error("{0}; nothing was verified")]
    Keyring(KeyringFileError),
    #[error("{path}: {source}; nothing was verified")]
    Folder { path: String, source: io::Error },
    #[error("{path}: {what}; nothing was verified")]
    KnownHead { path: String, what: String },
    #[error("{path}: {what}; nothing was verified")]
    Policy { path: String, what: String },
    /// The anchor's store does not tell the head that it remembers.
    #[error("{0}; nothing was verified")]
    StoredHead(#[from] NotRecalled),
    #[error("{path}: no ledger here; nothing was verified")]
    NoLedger { path: String },
}

impl CommandFailure for VerifyFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Policy { .. } => Exit::Usage,
            Self::Keyring(_)
            | Self::Folder { .. }
            | Self::KnownHead { .. }
            | Self::StoredHead(_)
            | Self::NoLedger { .. } => Exit::Incomplete,
        }
    }
}
