//! The command line: flags, exit codes, stdout.
//!
//! The program is the function [`main`], so that its tests can start it too. It is the only crate that prints: results
//! go to stdout, everything else to stderr. [`verify`] reads a ledger's folder with the formats alone.

mod access;
mod admin_token;
mod anchor;
mod archives;
mod arguments;
mod bench;
mod brought_file;
mod commands;
mod delivery;
mod descriptors;
mod dimension;
mod document;
mod draft;
mod durable_file;
mod error;
mod event_page;
mod exit;
mod filters;
mod import;
mod interrupt;
mod joined;
mod json_text;
mod keyring_file;
mod known_ledgers;
mod known_people;
mod life;
mod lifelike;
mod logging;
mod new_file;
mod notices;
mod output;
mod pages;
mod passphrase;
mod place_parser;
mod prices;
mod program;
mod progress;
mod prove;
mod service;
mod stored_line;
mod table;
mod token;
pub mod verify;
mod within;
mod witnesses;

pub use program::main;
