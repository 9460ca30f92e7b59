//! `schema.registered`: types that the vocabulary does not have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, Count, EventData, FreeText, SchemaText};

/// `schema.registered`: events of a type outside the vocabulary are taken where their data fits this schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaRegistered {
    /// The type of the events.
    #[serde(rename = "type")]
    pub kind: BoundedText<128>,
    /// Counts up when the schema changes.
    pub version: Count,
    /// The meaning of such an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<FreeText>,
    /// JSON Schema, draft 2020-12.
    pub schema: SchemaText,
}

impl EventData for SchemaRegistered {
    const KIND: &'static str = "schema.registered";
    const VERSION: u32 = 1;
}
