//! Answers to uploads of any length.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{HeadReference, ProblemAnswer};

/// One line of the answer to an upload: an acknowledgement, or the last line.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum IngestLine {
    /// The last line: everything is durable.
    End {
        /// The sums of the upload.
        end: IngestEnd,
    },
    /// The last line: it ends here. Acknowledged lines stay.
    Error {
        /// The reason, and the line.
        error: ProblemAnswer,
    },
    /// More lines are durable.
    Acknowledged(IngestAcknowledgement),
}

/// Lines of an upload that have become durable since the last acknowledgement.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct IngestAcknowledgement {
    /// Every line of the upload up to this one is durable; empty lines count.
    pub lines: u64,
    /// The lowest position of their events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The highest position of their events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Events that were added.
    pub created: u64,
    /// Events that had been there already.
    pub duplicates: u64,
}

/// The sums of a whole upload.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct IngestEnd {
    /// Lines, empty ones too.
    pub lines: u64,
    /// The lowest position of its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The highest position of its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Events that were added.
    pub created: u64,
    /// Events that had been there already.
    pub duplicates: u64,
    /// A durable head that covers all of it.
    pub head: HeadReference,
}
