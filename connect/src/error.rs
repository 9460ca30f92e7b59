//! The errors of connections, spools and hooks.

use std::io;
use std::path::PathBuf;

use bitacora_client::{ClientError, ServiceUrlError, TokenFormatError};
use bitacora_harness::HookError;

/// A connection that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The file cannot be read or written.
    #[error("{}: {source}; run `bitacora connect` again", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a connection.
    #[error("{}: found a file that is no connection: {why}; run `bitacora connect` again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// Other users could change what is allowed, or read the token.
    #[error("{}: found permissions {mode:o}; expected 600, because the file holds a token", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The service's address is none.
    #[error(transparent)]
    Url(#[from] ServiceUrlError),
    /// The token is none.
    #[error(transparent)]
    Token(#[from] TokenFormatError),
    /// The key to verify answers with is none.
    #[error("found an answer key that is not 64 hexadecimal digits; run `bitacora connect` again")]
    AnswerKey,
    /// Another process connects or disconnects.
    #[error("{}: another `bitacora connect` or `disconnect` has held this lock for {waited_s} s; nothing was changed", path.display())]
    Busy {
        /// The lock's file.
        path: PathBuf,
        /// The time that was waited, seconds.
        waited_s: u64,
    },
    /// Neither `HOME` nor the folders of the XDG base directories are known.
    #[error("found no home folder; set HOME, or BITACORA_CONNECT_HOME to a folder for connections")]
    NoHome,
}

/// An input that cannot be spooled, or no more be read.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The folder or a file in it cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is no room.
    #[error(
        "found {files} inputs of {bytes} bytes in the spool, which is full; start the service to have them delivered"
    )]
    Full {
        /// Files in it.
        files: usize,
        /// Bytes in it.
        bytes: u64,
    },
    /// The file is not one that this connection wrote.
    #[error("{}: found a file that this connection did not write", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The system has no random bytes.
    #[error("found no random bytes; the system's generator does not answer")]
    Random,
}

/// The reason why a hook has no answer of the service.
#[derive(Debug, thiserror::Error)]
pub enum HookFailure {
    /// The hook was started in a way that no settings of ours do.
    #[error("found arguments that are no hook's: {0}; run `bitacora connect` again")]
    Arguments(String),
    /// The connection cannot be used.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The harness's input cannot be read.
    #[error("the harness's input cannot be read: {0}")]
    Input(#[from] io::Error),
    /// The harness's input is too long.
    #[error("found more than {0} bytes of input; expected fewer")]
    InputTooLong(u64),
    /// The harness's input is no hook's.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The hook before calls was told of something else.
    #[error("found an event that is no call before it runs; the harness may be of a later version")]
    NoCall,
    /// The service did not answer, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The service did not answer in time.
    #[error("found no answer within {0} s; the service is slow or hangs")]
    Late(u64),
    /// The service's answer is no hook's output.
    #[error("found an answer that is no hook's output; check the service's address and version")]
    Answer,
    /// The spool did not take the input.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The process cannot run.
    #[error("the hook cannot run: {0}")]
    Process(String),
}
