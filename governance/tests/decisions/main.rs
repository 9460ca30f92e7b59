//! Decisions, from an empty ledger on, without a log.

#![expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on must fail"
)]

mod approvals;
mod breakers;
mod desk;
mod golden;
mod imports;
mod principals;
mod replays;
mod steps;
mod stops;
