//! What may be called.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The tools of a ledger.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ToolList {
    /// How many changes the registry has seen.
    pub revision: String,
    /// By name and server.
    pub tools: Vec<ToolAnswer>,
    /// The `after` of the next page; absent at the end.
    pub next: Option<String>,
}

/// A tool.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct ToolAnswer {
    /// The registry's revision since which it is this.
    pub revision: String,
    /// What it is, as `tool.registered` records it.
    #[schema(value_type = Object)]
    pub document: Value,
}
