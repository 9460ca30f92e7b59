//! The ledger that an import appends to, and the channel for its requests.

use std::fmt::Display;
use std::future::Future;

/// A ledger that an import appends to.
pub trait ImportTarget {
    /// The channel for requests.
    type Channel: AppendChannel<Miss: Send + 'static> + Send + 'static;

    /// Opens another channel.
    fn channel(&self) -> Self::Channel;

    /// Returns the position from which on the import of this digest counts towards trust, if it does.
    fn counts_since(&self, digest: &str) -> impl Future<Output = Option<String>>;
}

/// A channel to a ledger, which takes one request at a time.
pub trait AppendChannel {
    /// The reason why a request was not acknowledged.
    type Miss: AppendMiss;

    /// Appends an array of CloudEvents, with retries until the outcome is known. Returned `Ok` ⇒ they are acknowledged.
    fn append(&mut self, events: Vec<u8>)
    -> impl Future<Output = Result<Acknowledgement, Self::Miss>> + Send;

    /// Returns the number of retries so far.
    fn retries(&self) -> u64;
}

/// The ledger's acknowledgement of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number of events that are new.
    pub created: u64,
    /// The number of events that were there before.
    pub duplicates: u64,
    /// The number of events derived from them.
    pub derived: u64,
    /// The position of the ledger's head.
    pub head_position: String,
    /// The chain hash of the ledger's head.
    pub head_hash: String,
}

/// The reason why a request was not acknowledged.
pub trait AppendMiss: Display {
    /// Returns its stable code; empty where nobody answered.
    fn code(&self) -> &str;

    /// Returns the number, from 0, of the event that is refused because of its content.
    fn refused_event(&self) -> Option<usize>;

    /// Returns `true` if fewer events at once might be taken.
    fn is_about_size(&self) -> bool;
}
