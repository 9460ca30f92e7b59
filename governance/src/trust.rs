//! What a dimension has shown so far, as the vocabulary counts it: here it is compared with a plain model of it.

pub use bitacora_formats::vocabulary::{RECENT_OUTCOMES, RecentOutcomes, TrustRecord};

#[cfg(test)]
mod tests;
