//! Archives: ranges of events that lie in an object store, sealed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Archives of a ledger.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ArchiveList {
    /// In the order in which they were sealed, the oldest first.
    pub archives: Vec<ArchiveAnswer>,
    /// The `after` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An archive that was read back and found whole.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveAnswer {
    /// The name of its object.
    pub archive: String,
    /// The first event in it.
    pub first: String,
    /// The last one.
    pub last: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// SHA-256 of its signed manifest.
    pub manifest_sha256: String,
    /// The store that holds it, in the words of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The time at which it was sealed.
    pub sealed: String,
    /// The position of the event that says so.
    pub position: String,
}
