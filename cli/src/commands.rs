//! The commands, one a file.

pub(crate) mod append;
pub(crate) mod approvals;
pub(crate) mod bench;
pub(crate) mod breakers;
pub(crate) mod clock;
pub(crate) mod completions;
pub(crate) mod decide;
pub(crate) mod import;
pub(crate) mod imports;
pub(crate) mod keys;
pub(crate) mod mode;
pub(crate) mod outcome;
pub(crate) mod panic;
pub(crate) mod policy;
pub(crate) mod prove;
pub(crate) mod quickstart;
pub(crate) mod read;
pub(crate) mod recover;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod tail;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod verify;
