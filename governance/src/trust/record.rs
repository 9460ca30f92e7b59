//! The record of a dimension, as the vocabulary counts it; its tests compare it with a plain model.

pub use bitacora_vocabulary::{RECENT_OUTCOMES, RecentOutcomes, TrustRecord};

#[cfg(test)]
mod tests;
