//! Archives of the ledger: what they are shown, have recorded, release and restore.

pub(crate) mod archived_state;
pub(crate) mod archiving;
pub(crate) mod known_segments;
pub(crate) mod release;
pub(crate) mod restoration;
pub(crate) mod restored_state;
