//! The server that a session is with: a process, or an address.

use std::io;

use tokio::sync::mpsc;

use crate::error::McpError;
use crate::http_upstream::{HttpUpstream, UpstreamUrl};
use crate::process::{ServerCommand, ServerProcess};
use crate::proxy::UpstreamEvent;

/// The place of a server.
#[derive(Clone)]
pub enum UpstreamAddress {
    /// A program to start.
    Command(ServerCommand),
    /// An address of the streamable HTTP transport.
    Url(UpstreamUrl),
}

/// A server that is reached.
pub(crate) enum Upstream {
    Process(Box<ServerProcess>),
    Http(HttpUpstream),
}

impl Upstream {
    /// Starts or reaches a server. Its messages come to the receiver.
    pub(crate) fn open(address: UpstreamAddress) -> Result<(Self, mpsc::Receiver<UpstreamEvent>), McpError> {
        Ok(match address {
            UpstreamAddress::Command(command) => {
                let (process, events) = ServerProcess::start(&command)?;
                (Self::Process(Box::new(process)), events)
            }
            UpstreamAddress::Url(url) => {
                let (upstream, events) = HttpUpstream::open(url)?;
                (Self::Http(upstream), events)
            }
        })
    }

    /// Sends a message of the client.
    pub(crate) async fn send(&self, message: &str) -> io::Result<()> {
        match self {
            Self::Process(process) => process.send(message).await,
            Self::Http(upstream) => upstream.send(message).await,
        }
    }

    /// Ends the session with the server.
    pub(crate) async fn end(&self) {
        match self {
            Self::Process(process) => process.end().await,
            Self::Http(upstream) => upstream.end().await,
        }
    }
}
