//! The reasons why not everything was measured.

use std::io;
use std::path::PathBuf;

use bitacora_archiver::ArchiverError;
use bitacora_ledger::{AppendError, CloseError, CreateError, OpenError, ReadError};
use bitacora_server::DataError;

use crate::keys::key_generation::KeyGenerationError;
use crate::keys::keyring_file::KeyringFileError;

/// The reason why not everything was measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("{}: exists already; name a folder that can be made and removed again", .0.display())]
    Exists(PathBuf),
    #[error("{}: {source}", path.display())]
    Disk { path: PathBuf, source: io::Error },
    #[error("{what}: {source}; nothing was measured with it")]
    System { what: &'static str, source: io::Error },
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Keyring(#[from] KeyringFileError),
    #[error(transparent)]
    Keys(#[from] KeyGenerationError),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("what was measured on does not verify: a defect; its figures are worth nothing")]
    Verify,
    #[error(transparent)]
    Close(#[from] CloseError),
    #[error("the service that is measured {0}")]
    Service(String),
    #[error("{0} made no answer within its time; measure longer with --seconds")]
    Nothing(&'static str),
    #[error(transparent)]
    Archive(#[from] ArchiverError),
    #[error("stopped")]
    Stopped,
}
