//! Stops: the panic, and suspended agents.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body that stops agents, or lets them go on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StopRequest {
    /// The reason.
    pub reason: String,
}

/// The stops that are in force.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct StopsAnswer {
    /// `true` if everything is stopped.
    pub panic: bool,
    /// The reason for the panic.
    pub reason: Option<String>,
    /// The agents that are suspended.
    pub suspended: Vec<SuspendedAgent>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<String>,
}

/// An agent that is stopped.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct SuspendedAgent {
    /// The agent.
    pub agent: String,
    /// The reason.
    pub reason: String,
}
