//! The promises of the ledger, one module each. See the table in the README.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must fail")]
#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test that cannot go on must fail")]

mod p1_durable;
mod workload;
