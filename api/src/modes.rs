//! The enforcement mode.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The enforcement mode.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ModeAnswer {
    /// Of all calls that no scope is about: `enforce` or `observe`.
    pub mode: String,
    /// Those of which it is another.
    pub scopes: Vec<ScopedMode>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<String>,
}

/// The mode of the calls that a scope is about.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ScopedMode {
    /// The scope: calls that agree with every member.
    pub scope: ModeScopeAnswer,
    /// `enforce` or `observe`.
    pub mode: String,
}

/// Calls that a mode is about.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ModeScopeAnswer {
    /// Of this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// In this role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// The body that sets a mode.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ModeRequest {
    /// `enforce` or `observe`.
    pub mode: String,
    /// The scope; left out, all calls that no scope is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<ModeScopeAnswer>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
