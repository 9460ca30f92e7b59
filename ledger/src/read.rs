//! Reads of what is durable: frames, pages of events, folds, leaves and proofs.

pub(crate) mod background_scrub;
pub(crate) mod commitments;
pub(crate) mod leaf_repair;
pub(crate) mod log_fold;
pub(crate) mod log_reader;
pub(crate) mod openers;
pub(crate) mod page;
pub(crate) mod proofs;
pub(crate) mod scrub_rounds;
pub(crate) mod state_fold;
