//! Tools that may be called.

use bitacora_vocabulary::{BlastRadius, Risk};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
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

/// The timeout of calls of a tool about which nothing else is known.
const TIMEOUT_MS: u32 = 60_000;
/// The roles that may use such a tool: the same as of the starter's tools.
const ROLES: [&str; 3] = ["agent", "operator", "admin"];

/// The registration of a tool that calls named and nobody registered. It holds nothing that the tool says of itself.
#[derive(Debug, Clone, Copy)]
pub struct SeenToolRegistration<'a> {
    /// Its name, as the calls have it.
    pub tool: &'a str,
    /// The server that the calls name.
    pub server: Option<&'a str>,
    /// The version of its definition; without one, the first.
    pub version: Option<&'a str>,
    /// The effects of a call on the world.
    pub risk: Risk,
    /// The damage that a call may do; without it the usual one of the risk.
    pub blast_radius: Option<BlastRadius>,
}

impl SeenToolRegistration<'_> {
    /// Returns the damage that a call may do.
    #[must_use]
    pub fn blast_radius(&self) -> BlastRadius {
        self.blast_radius.unwrap_or(match self.risk {
            Risk::Read => BlastRadius::Medium,
            Risk::Write => BlastRadius::High,
            Risk::Destructive => BlastRadius::Critical,
        })
    }

    /// Returns the document that registers it. Any arguments fit, and an approval is bound to all of them.
    #[must_use]
    pub fn document(&self) -> Value {
        let mut document = json!({
            "tool": self.tool,
            "version": self.version.unwrap_or("1"),
            "description": "Registered as calls named it.",
            "input_schema": {"type": "object"},
            "risk": self.risk,
            "blast_radius": self.blast_radius(),
            "requires_review": false,
            "allowed_roles": ROLES,
            "timeout_ms": TIMEOUT_MS,
            "retry": {"max": 0, "backoff_ms": 0},
            "idempotency": "none",
            "binding_fields": [],
        });
        if let (Some(server), Some(members)) = (self.server, document.as_object_mut()) {
            members.insert("server".to_owned(), server.into());
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::ToolDocument;

    use super::*;

    #[test]
    fn a_seen_tool_is_registered_by_a_whole_document() {
        let seen = SeenToolRegistration {
            tool: "deploy",
            server: Some("ci"),
            version: None,
            risk: Risk::Destructive,
            blast_radius: None,
        };
        let document: ToolDocument = serde_json::from_value(seen.document()).unwrap();
        assert_eq!((document.tool.as_str(), document.blast_radius), ("deploy", BlastRadius::Critical));
        assert_eq!(document.server.unwrap().as_str(), "ci");
    }
}
