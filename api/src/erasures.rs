//! Erasures of data subjects.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body that erases a data subject.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErasureRequest {
    /// The subject's name, as events give it in `datasubject`. It is not recorded. This, `event` or both are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "customer/4711")]
    pub subject: Option<String>,
    /// The position of an event of the subject: the key under which that event is sealed is destroyed. `subject` beside it has to be
    /// the name that the event gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The authority for the erasure, such as a ticket. It is recorded for good, so it may not hold the subject's name.
    #[schema(example = "ticket 4711")]
    pub authority: String,
    /// The person who asked for it. It is recorded for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason. It is recorded for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An erasure that is recorded and complete.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErasureAnswer {
    /// The position of its event, `subject.erased`.
    pub position: String,
    /// The id of the key that is destroyed, 32 hexadecimal digits.
    pub key: String,
    /// The anchor's memory of it.
    pub anchor: ErasureMemoryAnswer,
}

/// The memory that the anchor has of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ErasureMemoryAnswer {
    /// There is no anchor: an older copy of the ledger's folder does not know of the erasure.
    None,
    /// It remembers the erasure, also against an older copy of the folder.
    Remembered,
    /// It could not be reached, and is asked again.
    Pending,
}
