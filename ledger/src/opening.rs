//! Openings of a ledger: for writing, for reading, for questions; and what they do about a loss.

pub(crate) mod creation;
pub(crate) mod events_behind_damage;
pub(crate) mod for_writing;
pub(crate) mod loss_policy;
pub(crate) mod loss_record;
pub(crate) mod open_ledger;
pub(crate) mod put_back;
pub(crate) mod reading;
pub(crate) mod recover;
pub(crate) mod released_files;
pub(crate) mod signing_keys;
pub(crate) mod snapshot_open;
