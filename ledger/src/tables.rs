//! Derived state beside the log, so that a later opening reads and folds less.

pub(crate) mod fold;
pub(crate) mod reactor_state;
pub(crate) mod snapshots;
pub(crate) mod table_writer;
pub(crate) mod tip_tables;
