//! What is stopped.

use serde::Deserialize;
use utoipa::ToSchema;

/// The body that stops agents, or lets them go on.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct StopRequest {
    /// Why.
    pub reason: String,
}

/// What is stopped.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct StopsAnswer {
    /// Whether everything is.
    pub panic: bool,
    /// Why everything is.
    pub reason: Option<String>,
    /// Agents that are.
    pub suspended: Vec<SuspendedAgent>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<String>,
}

/// An agent that is stopped.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct SuspendedAgent {
    /// Which.
    pub agent: String,
    /// Why.
    pub reason: String,
}
