//! The tools with which the promises are tested.

pub mod agents;
pub mod folders;
pub mod http_client;
pub mod loopback_s3;
pub mod raised_at_end;
pub mod seeded;
pub mod service;
pub mod simulated_disk;
pub mod simulation;
pub mod variables;
pub mod witness;
pub mod witness_service;
