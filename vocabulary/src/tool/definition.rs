//! Definitions of tools as their servers give them, which nobody vouches for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Sha256Text;
use crate::{BoundedText, EventData, Name};

/// Bytes of a definition that is kept.
pub const MAX_DEFINITION_BYTES: usize = 64 * 1024;

/// A definition as canonical JSON (RFC 8785), in a text: it is what a server says, with hints that nobody checked.
pub type DefinitionText = BoundedText<MAX_DEFINITION_BYTES>;

/// `tool.described`: a server defines a tool that it did not define before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDescribed {
    /// The tool's name, as calls name it.
    pub tool: Name,
    /// The digest of its definition.
    pub digest: Sha256Text,
    /// The definition, if it is not too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<DefinitionText>,
}

/// `tool.drifted`: a server defines a tool otherwise than expected. Its calls are held until an operator registers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDrifted {
    /// The tool's name, as calls name it.
    pub tool: Name,
    /// The digest of its definition.
    pub digest: Sha256Text,
    /// The digest of the definition that was registered, or else of the first one.
    pub expected: Sha256Text,
    /// The definition, if it is not too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<DefinitionText>,
}

impl EventData for ToolDescribed {
    const KIND: &'static str = "tool.described";
    const VERSION: u32 = 1;
}

impl EventData for ToolDrifted {
    const KIND: &'static str = "tool.drifted";
    const VERSION: u32 = 1;
}
