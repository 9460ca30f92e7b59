//! The command line: flags, exit codes, stdout.
//!
//! The program is the function [`main`], so that its tests can start it too. It is the only crate that prints: results
//! go to stdout, everything else to stderr. [`verify`] reads a ledger's folder with the formats alone.

mod access;
mod admin_token;
mod anchor;
mod append_retry;
mod archives;
mod arguments;
mod bench;
mod commands;
mod demo_data;
mod descriptors;
mod dimension;
mod document;
mod durable_file;
mod error;
mod event_page;
mod exit;
mod filters;
mod global;
mod import;
mod in_process;
mod input_file;
mod interrupt;
mod key_generation;
mod keyring_file;
mod known_ledgers;
mod ledger_setup;
mod logging;
mod mapping_arguments;
mod merge_pages;
mod named_token;
mod new_file;
mod notices;
mod output;
mod pages;
mod passphrase;
mod place_parser;
mod prices;
mod principal_names;
mod program;
mod progress;
mod prove;
mod service;
mod source_files;
mod stored_line;
mod table;
mod token;
mod ttl;
mod usage;
pub mod verify;
mod witnesses;

pub use program::main;
