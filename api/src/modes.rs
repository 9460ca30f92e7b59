//! The enforcement mode.

use std::fmt;

use bitacora_vocabulary::ModeScope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::budgets::write_members;

/// The enforcement mode.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ModeAnswer {
    /// Of all calls that no scope is about: `enforce` or `observe`.
    pub mode: String,
    /// Those of which it is another.
    pub scopes: Vec<ScopedMode>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The mode of the calls that a scope is about.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
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

impl From<&ModeScope> for ModeScopeAnswer {
    fn from(scope: &ModeScope) -> Self {
        let ModeScope { tool, agent, role } = scope;
        Self {
            tool: tool.as_ref().map(ToString::to_string),
            agent: agent.as_ref().map(ToString::to_string),
            role: role.as_ref().map(ToString::to_string),
        }
    }
}

/// The scope in a line: `tool fs.write, agent ci`.
impl fmt::Display for ModeScopeAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, agent, role } = self;
        write_members(out, &[("tool", tool), ("agent", agent), ("role", role)], "all calls")
    }
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
