//! The commands, one a file.

pub(crate) mod append;
pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod prove;
pub(crate) mod quickstart;
pub(crate) mod read;
pub(crate) mod recover;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod tail;
pub(crate) mod token;
pub(crate) mod verify;
