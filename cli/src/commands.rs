//! The commands, one a file.

pub(crate) mod keys;
pub(crate) mod serve;
pub(crate) mod verify;
