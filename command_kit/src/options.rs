//! The options that several commands share.

pub mod archiving_arguments;
pub mod dimension;
pub mod filters;
pub mod global;
pub mod mapping_arguments;
pub mod notice_arguments;
pub mod optional_command;
pub mod place_parser;
pub mod prices;
pub mod time;
pub mod tls_arguments;
pub mod trust_options;
pub mod usage;
pub mod witness_arguments;
pub mod words;
