//! The notices of a verification: removals of expired content that are under way, or whose record was lost. Nothing is invalid, and
//! nothing was left unchecked.

use bitacora_formats::Generation;

/// Something that a reader should know and that changes no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    /// The log records a removal, and the archive before it is still kept.
    #[error(
        "event {event} records that expired content of positions {first} to {last} is removed, and the archive with that content is still kept; the next look of the service, or `bitacora archive expire`, finishes the removal"
    )]
    UnfinishedRemoval {
        /// The first position of the archive.
        first: u64,
        /// The last one.
        last: u64,
        /// The event.
        event: u64,
    },
    /// Content is removed, and the event that would record it is among those that were lost.
    #[error(
        "expired content between positions {first} and {last} is removed, and no event records it: events behind position {retained} were lost before generation {generation}"
    )]
    RemovalRecordLost {
        /// The first of the positions.
        first: u64,
        /// The last one.
        last: u64,
        /// The last position before the loss.
        retained: u64,
        /// The generation that declares the loss.
        generation: Generation,
    },
}
