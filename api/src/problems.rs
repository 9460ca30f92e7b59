//! Problem documents (RFC 9457).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error: RFC 9457, `application/problem+json`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemAnswer {
    /// `urn:bitacora:problem:` and the code.
    pub r#type: String,
    /// The same for every occurrence of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The cause in this case.
    pub detail: String,
    /// A stable name for programs.
    #[schema(example = "condition-failed")]
    pub code: String,
    /// `true` if the same request may succeed later.
    pub retryable: bool,
    /// The effect that the request may have had: `none`, `unknown` or `committed`.
    #[schema(example = "none")]
    pub side_effects: String,
    /// The role that may do this, where another one was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// The version of the stream that was expected, as `If-Match` or `If-None-Match` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The version that is there instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The position of the event that refuses the request, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// The last durable position, where the request names one past it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<String>,
    /// The first position that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The last position that cannot be read, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The single faults, by their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FaultAnswer>,
}

/// One fault and its place.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct FaultAnswer {
    /// The line of the body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The value in the body, as a JSON pointer; in NDJSON within its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The query or path parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// The header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// The fault.
    pub detail: String,
}
