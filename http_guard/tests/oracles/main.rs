//! The guard before two readers of other hands: what it admits, they frame alike.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on must fail")]

mod admitted;
mod connections;
mod hyper_server;
mod plain_reader;
