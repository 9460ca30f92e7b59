//! Decisions, from an empty ledger on, without a log.

mod approvals;
mod breakers;
mod desk;
mod replays;
mod steps;
