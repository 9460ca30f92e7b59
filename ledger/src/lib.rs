//! The room of truth.
