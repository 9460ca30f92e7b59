//! The error of a command, and its exit code.

use std::error::Error;
use std::fmt;

use bitacora_archiver::StoreError;
use bitacora_data_folder::{KeyRetirementError, KeyringFileError, KnownLedgersError, SetupError};
use bitacora_ledger::CreateError;
use bitacora_report::SpanError;

use crate::exit::Exit;

/// An error that ends a command. Each operation has its own, beside it.
pub trait CommandFailure: Error + 'static {
    /// Returns the exit code that the error ends the program with.
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    /// Returns `true` if nobody is left to read the message.
    fn is_silent(&self) -> bool {
        false
    }
}

/// The reason why a command failed, in one line.
#[derive(Debug)]
pub struct CommandError(Box<dyn CommandFailure>);

impl CommandError {
    /// Returns the exit code of the program.
    pub fn exit(&self) -> Exit {
        self.0.exit()
    }

    /// Returns the error itself, to look for its sources.
    pub fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }

    /// Returns `true` if nobody is left to read the message.
    pub fn is_silent(&self) -> bool {
        self.0.is_silent()
    }
}

impl<F: CommandFailure> From<F> for CommandError {
    fn from(failure: F) -> Self {
        Self(Box::new(failure))
    }
}

impl CommandFailure for StoreError {}

impl CommandFailure for KeyringFileError {}

impl CommandFailure for KeyRetirementError {}

impl CommandFailure for SetupError {
    fn exit(&self) -> Exit {
        match self {
            Self::Create { source: CreateError::KnownToAnchor(_), .. }
            | Self::Known(KnownLedgersError::Anchored { .. }) => Exit::Diverged,
            Self::NotBegun(_) | Self::Data(_) | Self::Known(_) | Self::Keyring(_) | Self::Create { .. } => {
                Exit::Failed
            }
        }
    }
}

impl CommandFailure for SpanError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
