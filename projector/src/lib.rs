//! The room of derived state: what is folded from the ledger's records, and can be folded again from nothing.
//!
//! What this crate may not know: HTTP, the archiver beside it, and any way to add to history. It has no code yet: reads
//! go to the log itself, and a filtered read looks at every event in its range.
