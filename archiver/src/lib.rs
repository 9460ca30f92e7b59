//! The room of cold archives: a follower of the ledger that packs aged ranges and reads them back.
//!
//! What this crate may not know: HTTP, and the projector beside it. It has no code yet: the ledger keeps every
//! segment, and nothing is released.
