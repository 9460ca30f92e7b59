//! `annotation.added`: a remark on an event, a call or a dimension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedText, Dimension, EventData, EventPosition, FreeText, Name};

/// Tags of one annotation.
pub const MAX_ANNOTATION_TAGS: usize = 16;

/// `annotation.added`: a note beside the record. It changes nothing of its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnnotationAdded {
    /// The target of the annotation.
    pub on: AnnotationTarget,
    /// The note.
    pub text: FreeText,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BoundedList<BoundedText<128>, 0, MAX_ANNOTATION_TAGS>>,
}

/// The target of an annotation: one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnnotationTarget {
    /// An event.
    Position(EventPosition),
    /// A tool call.
    Call(Name),
    /// A dimension of trust.
    Dimension(Dimension),
}

impl EventData for AnnotationAdded {
    const KIND: &'static str = "annotation.added";
    const VERSION: u32 = 1;
}
