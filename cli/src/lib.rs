//! The command line: flags, exit codes, stdout.
//!
//! The program is the function [`main`], so that its tests can start it too. Results go to stdout,
//! everything else to stderr.

mod arguments;
mod commands;
mod help;
mod program;
mod rows;
mod settings;
mod web_pages;

use bitacora_command_kit::{error, exit, files, ledger_access, options, terminal};

pub use program::{hook_main, main};
