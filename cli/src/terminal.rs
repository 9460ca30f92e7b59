//! The writing of results and progress.

pub(crate) mod browser;
pub(crate) mod logging;
pub(crate) mod output;
pub(crate) mod passphrase;
pub(crate) mod problem;
pub(crate) mod progress;
pub(crate) mod stored_line;
pub(crate) mod table;
