//! The channel that an import appends its requests through.

use std::fmt::Display;

/// A channel to a ledger, which takes one request at a time.
pub(crate) trait AppendChannel {
    /// The ledger's acknowledgement of a request.
    type Acknowledgement;
    /// The reason why a request was not acknowledged.
    type Miss: AppendMiss;

    /// Appends an array of CloudEvents, with retries until the outcome is known. Returned `Ok` ⇒ they are acknowledged.
    async fn append(&mut self, events: Vec<u8>) -> Result<Self::Acknowledgement, Self::Miss>;

    /// Returns the number of retries so far.
    fn retries(&self) -> u64;
}

/// The reason why a request was not acknowledged.
pub(crate) trait AppendMiss: Display {
    /// Returns its stable code; empty where nobody answered.
    fn code(&self) -> &str;

    /// Returns the number, from 0, of the event that is refused because of its content.
    fn refused_event(&self) -> Option<usize>;

    /// Returns `true` if fewer events at once might be taken.
    fn is_about_size(&self) -> bool;
}
