//! Notes beside the record.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Annotations.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AnnotationList {
    /// The newest first.
    pub annotations: Vec<AnnotationAnswer>,
    /// The tags of the dimension, those given most often first; present only if a dimension was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<TagAnswer>>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A note beside the record.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AnnotationAnswer {
    /// The position of its event.
    pub position: String,
    /// The time at which it was written.
    pub time: String,
    /// The subject: one of `position`, `call` and `dimension`.
    #[schema(value_type = Object)]
    pub on: Value,
    /// The note.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The actor that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A tag of a dimension.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TagAnswer {
    /// The word.
    pub tag: String,
    /// Annotations that have it.
    pub count: String,
    /// The last one's position.
    pub last: String,
}

/// A note to be written.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AnnotationRequest {
    /// The subject: one of `position`, `call` and `dimension`.
    #[schema(value_type = Object)]
    pub on: Value,
    /// The note, up to 2,048 bytes.
    pub text: String,
    /// Up to 16 words to find it by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}
