//! Stops of all agents or of one, in every mode, and the events that lift them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentName, EventData, FreeText, Name};

/// `panic.engaged`: every call is denied from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PanicEngaged {
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

/// `panic.released`: calls are decided again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PanicReleased {
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

/// `agent.suspended`: every call of one agent is denied from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSuspended {
    /// The agent.
    pub agent: AgentName,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

/// `agent.resumed`: its calls are decided again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentResumed {
    /// The agent.
    pub agent: AgentName,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

impl EventData for PanicEngaged {
    const KIND: &'static str = "panic.engaged";
    const VERSION: u32 = 1;
}

impl EventData for PanicReleased {
    const KIND: &'static str = "panic.released";
    const VERSION: u32 = 1;
}

impl EventData for AgentSuspended {
    const KIND: &'static str = "agent.suspended";
    const VERSION: u32 = 1;
}

impl EventData for AgentResumed {
    const KIND: &'static str = "agent.resumed";
    const VERSION: u32 = 1;
}
