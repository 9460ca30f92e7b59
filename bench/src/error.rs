//! The reasons why not everything was measured.

use std::io;
use std::path::PathBuf;

use bitacora_archiver::ArchiverError;
use bitacora_ledger::{AppendError, CloseError, CreateError, OpenError, ReadError};
use bitacora_server::DataError;

/// The reason why not everything was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The folder exists.
    #[error("{}: exists already; name a folder that can be made and removed again", .0.display())]
    Exists(PathBuf),
    /// The disk gave an error.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// The error of the disk.
        source: io::Error,
    },
    /// The system gave an error.
    #[error("{what}: {source}; nothing was measured with it")]
    System {
        /// The thing that was asked for.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A ledger cannot be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A ledger cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Events cannot be appended.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Events cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The measured ledger does not verify.
    #[error("what was measured on does not verify: a defect; its figures are worth nothing")]
    Verify,
    /// A ledger cannot be closed.
    #[error(transparent)]
    Close(#[from] CloseError),
    /// The measured service failed.
    #[error("the service that is measured {0}")]
    Service(String),
    /// A measurement has no answers.
    #[error("{0} made no answer within its time; measure longer with --seconds")]
    Nothing(&'static str),
    /// Events cannot be archived.
    #[error(transparent)]
    Archive(#[from] ArchiverError),
    /// The signal to stop was given.
    #[error("stopped")]
    Stopped,
}
