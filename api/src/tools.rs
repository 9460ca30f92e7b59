//! Tools that may be called.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The tools of a ledger.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolList {
    /// The number of changes that the registry has seen.
    pub revision: String,
    /// By name and server.
    pub tools: Vec<ToolAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Tools that calls named and nobody registered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct UnregisteredToolList {
    /// By agent, name and server.
    pub tools: Vec<UnregisteredToolAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A tool that calls of one agent named and nobody registered.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnregisteredToolAnswer {
    /// Its name, as the calls have it.
    pub tool: String,
    /// The server that the calls name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The agent; absent where the calls name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The calls.
    pub calls: u64,
    /// The position of the first decision on one of them.
    #[schema(example = "17")]
    pub first: String,
    /// The position of the last one.
    #[schema(example = "42")]
    pub last: String,
    /// The time of the last one.
    pub last_time: String,
}

/// A tool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ToolAnswer {
    /// The registry's revision since which it is this.
    pub revision: String,
    /// The registration, as `tool.registered` records it.
    #[schema(value_type = Object)]
    pub document: Box<RawValue>,
}
