//! The reasons why nothing was verified.

use bitacora_data_folder::{AnchoredHeadError, KeyringFileError};
use bitacora_verify::InputError;

use crate::error::CommandFailure;
use crate::exit::Exit;

/// The reason why nothing was verified.
#[derive(Debug, thiserror::Error)]
pub(super) enum VerifyFailure {
    /// The keyring is missing or unusable.
    #[error("{0}; nothing was verified")]
    Keyring(KeyringFileError),
    /// A file that was named is missing or unusable.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The anchor's store does not tell the head that it remembers.
    #[error("{0}; nothing was verified")]
    StoredHead(#[from] AnchoredHeadError),
}

impl CommandFailure for VerifyFailure {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(InputError::Policy { .. }) => Exit::Usage,
            Self::Input(_) | Self::Keyring(_) | Self::StoredHead(_) => Exit::Incomplete,
        }
    }
}
