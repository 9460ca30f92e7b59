//! What the promises are tested with.

pub mod seeded;
pub mod simulated_disk;
pub mod simulation;
