//! The options that several commands share.

pub(crate) mod archiving_arguments;
pub(crate) mod dimension;
pub(crate) mod filters;
pub(crate) mod global;
pub(crate) mod mapping_arguments;
pub(crate) mod notice_arguments;
pub(crate) mod optional_command;
pub(crate) mod place_parser;
pub(crate) mod prices;
pub(crate) mod time;
pub(crate) mod usage;
pub(crate) mod witness_arguments;
pub(crate) mod words;
