//! The part of the state that concerns one executor.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The part of the deciding state that concerns one executor.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyCacheAnswer {
    /// The ledger's id.
    pub ledger: String,
    /// The last event that it rests on.
    #[schema(example = "17")]
    pub position: String,
    /// The time of the service's clock before the state was looked at, RFC 3339.
    pub time: String,
    /// The time of the last event that governs, RFC 3339.
    pub governed_time: String,
    /// The version of the rules by which the service decides.
    pub rules: u32,
    /// The form of the pieces.
    pub form: u32,
    /// The executor whose calls the pieces are about.
    pub executor: ExecutorAnswer,
    /// The state, in pieces that belong together; their form is the program's own.
    #[schema(value_type = Vec<serde_json::Value>)]
    pub pieces: Vec<Box<RawValue>>,
}

/// An executor: the origin of calls.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ExecutorAnswer {
    /// The agent whose calls they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The sender of the requests, as events name it.
    #[schema(example = "agent:0123456789ab")]
    pub actor: String,
}
