//! Standing consent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Grants that hold.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantList {
    /// By their ids.
    pub grants: Vec<GrantAnswer>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<String>,
}

/// A grant.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantAnswer {
    /// Its id.
    pub grant: String,
    /// The scope of the consent.
    pub scope: GrantScopeAnswer,
    /// The time until which it holds.
    pub expires: String,
    /// The reason.
    pub note: Option<String>,
}

/// The scope of a grant: calls that agree with every member. It names the agent, the workspace and the context.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GrantScopeAnswer {
    /// Of this tool.
    pub tool: String,
    /// Of this server; without it, of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// In this context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// In this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// In this project, as the workspace of a decision's dimension shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Of commands, the parts that they may have, as approvals show them; without them the context alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<String>>,
}

/// The body that gives a grant.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GrantRequest {
    /// Its id; one is made where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// The scope of the consent.
    pub scope: GrantScopeAnswer,
    /// The time until which it holds, RFC 3339.
    pub expires: String,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A grant that was given.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct GrantGivenAnswer {
    /// The position of its event.
    pub position: String,
    /// Its id.
    pub grant: String,
}
