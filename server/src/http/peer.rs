//! The peer of a connection, and the place that the connection takes.

use crate::http::pool::{CallerKey, PartOwner};

/// The kind of peer at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Anything on this machine, browsers with foreign pages included.
    Tcp,
    /// Anything on another machine, which is nobody without a token.
    Remote,
    /// A program of our own user.
    Unix,
    /// The console, on behalf of a browser. It checked the page that the browser sends, and is nobody without the browser's token.
    Console {
        /// `true` if the browser is on this machine.
        is_near: bool,
    },
    /// The program that this service runs in, and which has the folder and its keys.
    Owner,
}

/// The place of the connection that a request came on, among those that there are; none within a program.
#[derive(Clone)]
pub(crate) struct ConnectionSlot(pub(crate) Option<PartOwner>);

/// The address that a connection comes from, as far as sharing goes.
#[derive(Debug, Clone)]
pub(crate) struct PeerAddress(pub(crate) CallerKey);
