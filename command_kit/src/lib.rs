//! The parts that commands share: options, ways to a ledger, output, errors and exit codes.

pub mod error;
pub mod exit;
pub mod files;
pub mod ledger_access;
pub mod options;
pub mod terminal;
