//! What is found of an event on its caller's thread, before anything of it is sealed.

/// What is found of an event before it gets its place.
#[derive(Debug, Clone, PartialEq)]
pub enum Examination {}
