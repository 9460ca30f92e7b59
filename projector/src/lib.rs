//! The room of derived state: what is folded from the ledger's records, and can be folded again from nothing.
//!
//! An [`IndexedLedger`] is a ledger whose filtered reads look only at events that may match. A follower's thread reads
//! what became durable and notes which labels stand where: the newest events in memory, the others in sealed blocks
//! below `projections/` of the ledger's folder. What the index does not know, or is in doubt about, is read
//! from the log itself: it makes answers faster and never other ones.
//!
//! What this crate may not know: HTTP, the archiver beside it, and any way to add to history.

mod follower;
mod index;
mod indexed_ledger;
pub mod limits;
mod open_block;
mod options;
mod selection;
mod shelf;
mod status;
mod stored_block;

pub use indexed_ledger::IndexedLedger;
pub use options::IndexOptions;
pub use status::{IndexState, IndexStatus};
