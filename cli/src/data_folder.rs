//! The data folder and its places outside: anchor, archives, witnesses, and the list of ledgers.

pub(crate) mod anchor;
pub(crate) mod archives;
pub(crate) mod known_ledgers;
pub(crate) mod ledger_setup;
pub(crate) mod notices;
pub(crate) mod witnesses;
