//! Following a ledger: Server-Sent Events from a position on, for as long as both sides last.
//!
//! Followers that are behind read pages of the log; those at its end share one [`Tail`](crate::event_stream::tail::Tail) per ledger, which
//! reads and writes each event once for all of them. Each goes at the pace of its peer, and holds only what the connection has not taken
//! yet. So a slow one costs nobody anything.

pub(crate) mod event_follower;
pub(crate) mod follow_body;
pub(crate) mod watcher;
