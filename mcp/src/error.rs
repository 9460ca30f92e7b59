//! The errors of the proxy and of the server of questions.

use std::io;

use bitacora_client::ClientError;

/// The reason why a session cannot begin, or ended.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The server's program cannot be started.
    #[error("{program}: {source}; nothing was started")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// No program is named.
    #[error("found no command of a server; write it behind `--`")]
    NoCommand,
    /// The upstream's address is none.
    #[error("{url}: found no address of an upstream; expected http://HOST/PATH or https://HOST/PATH")]
    Address {
        /// The text.
        url: String,
    },
    /// The client for the upstream cannot be made.
    #[error("the client of the upstream cannot be made: {0}")]
    Upstream(#[source] reqwest::Error),
    /// The name would make the names of tools ambiguous.
    #[error(
        "found the server name {0:?}; expected letters, digits, `-`, `.` and single `_` between them, at most 64; name it with --server"
    )]
    ServerName(String),
    /// The system has no random bytes.
    #[error("found no random bytes; the system's generator does not answer")]
    Random,
    /// The streams of the process cannot be read or written.
    #[error("the client cannot be read or written: {0}")]
    Client(#[from] io::Error),
    /// The server ended by itself.
    #[error("the server ended the session: {0}")]
    ServerEnded(String),
}

/// The reason why the service gave no usable answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceFailure {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("found no answer within {0} s; the service is slow or hangs")]
    Late(u64),
    #[error("found an answer that is none of a service; check its address and version")]
    Answer,
}
