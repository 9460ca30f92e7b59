//! Trust: the record of a dimension, the rules that assess it, its breaker and its ranking.

pub(crate) mod breaker;
pub(crate) mod checks_failed;
pub(crate) mod decay;
pub(crate) mod dimension;
pub(crate) mod new_dimensions;
pub(crate) mod ranking;
pub(crate) mod record;
pub(crate) mod rules;
