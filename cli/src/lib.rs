//! The command line: flags, exit codes, stdout.
//!
//! The program is the function [`main`], so that its tests can start it too. It is the only crate that prints: results
//! go to stdout, everything else to stderr.

mod arguments;
mod commands;
mod error;
mod exit;
mod files;
mod help;
mod ledger_access;
mod options;
mod program;
mod terminal;
mod web_pages;

pub use program::{hook_main, main};
