//! The server that a session is with: a process, or an address.

use std::io;

use tokio::sync::mpsc;

use crate::error::McpError;
use crate::frame::Id;
use crate::process::{ServerCommand, ServerProcess};
use crate::proxy::UpstreamEvent;

/// The place of a server.
#[derive(Debug, Clone)]
pub enum UpstreamAddress {
    /// A program to start.
    Command(ServerCommand),
}

/// A message for the server, with what a transport may need of it.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    /// The message: one line.
    pub(crate) text: String,
    /// Its method; `None` for an answer.
    pub(crate) method: Option<String>,
    /// Its id; `None` for an answer too.
    pub(crate) id: Option<Id>,
    /// The name or the address that it is about.
    pub(crate) name: Option<String>,
}

/// A server that is reached.
pub(crate) enum Upstream {
    Process(ServerProcess),
}

impl Upstream {
    /// Starts or reaches a server. Its messages come to the receiver.
    pub(crate) fn open(address: UpstreamAddress) -> Result<(Self, mpsc::Receiver<UpstreamEvent>), McpError> {
        match address {
            UpstreamAddress::Command(command) => {
                let (process, events) = ServerProcess::start(&command)?;
                Ok((Self::Process(process), events))
            }
        }
    }

    pub(crate) async fn send(&self, outgoing: Outgoing) -> io::Result<()> {
        match self {
            Self::Process(process) => process.send(&outgoing.text).await,
        }
    }

    pub(crate) async fn end(&self) {
        match self {
            Self::Process(process) => process.end().await,
        }
    }
}
