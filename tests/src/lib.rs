//! What the promises are tested with.
