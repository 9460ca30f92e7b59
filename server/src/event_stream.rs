//! Event streams: their messages, and the newest events of a ledger as messages for all its followers.

pub(crate) mod messages;
pub(crate) mod tail;
