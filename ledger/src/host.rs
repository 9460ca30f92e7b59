//! The machine as the ledger sees it: files, time, randomness, threads.

pub(crate) mod background_pace;
pub(crate) mod clock;
pub(crate) mod clock_watch;
pub(crate) mod disk;
pub(crate) mod entropy;
pub(crate) mod environment;
pub(crate) mod index_folder;
pub(crate) mod key_map;
pub(crate) mod lock_order;
pub(crate) mod replacement;
pub(crate) mod scrub_progress;
pub(crate) mod threads;
