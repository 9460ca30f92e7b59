//! The vocabulary of events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The vocabulary of events.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SchemaList {
    /// Sorted by type.
    pub schemas: Vec<SchemaAnswer>,
}

/// A type of event that has a meaning here.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchemaAnswer {
    /// The type.
    #[serde(rename = "type")]
    #[schema(example = "tool.completed")]
    pub kind: String,
    /// Counts up when what is required of the data changes.
    #[schema(example = 1)]
    pub version: u32,
    /// `anyone` who may append, `operators` and admins, `admins` alone, the `reactor` or the `service`.
    #[schema(example = "anyone")]
    pub written_by: String,
    /// The meaning of such an event.
    pub description: String,
    /// The `$id` of its schema, which `/v1/schemas/<type>` answers.
    #[schema(example = "urn:bitacora:schema:tool.completed:1")]
    pub schema: String,
}
