//! Imports: histories recorded elsewhere and brought here, and the approval by which they count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedMap, BoundedText, Count, EventData, FreeText, Name, PathText, Sha256Text};

/// Files that one import names; its digest covers the others.
pub const MAX_IMPORT_SOURCES: usize = 1_000;
/// Types of events that one import counts one by one.
pub const MAX_IMPORT_TYPES: usize = 256;
/// Bytes of a mapping of records to events.
pub const MAX_MAPPING_BYTES: usize = 64 * 1024;

/// `import.batch`: an import came to its end. It counts towards trust only once it is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportBatch {
    /// SHA-256 over the mapping and the facts about each file: the import's name.
    pub digest: Sha256Text,
    /// The mapping by which events were made of records.
    pub mapping: BoundedText<MAX_MAPPING_BYTES>,
    /// The totals of the import.
    pub counts: ImportCounts,
    /// The files.
    pub sources: BoundedList<ImportSource, 0, MAX_IMPORT_SOURCES>,
}

/// The totals of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportCounts {
    /// Files.
    pub files: Count,
    /// Records in them.
    pub lines: Count,
    /// Bytes of them, decompressed.
    pub bytes: Count,
    /// Events that were made of them.
    pub events: Count,
    /// Records that none could be made of.
    pub unmapped: Count,
    /// Records that need none.
    pub passed_over: Count,
    /// Calls whose outcome is not known.
    pub without_outcome: Count,
    /// Events by type.
    pub types: BoundedMap<Count, MAX_IMPORT_TYPES>,
}

/// One file of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportSource {
    /// Its name.
    pub name: PathText,
    /// The mapping by which its records were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping: Option<BoundedText<MAX_MAPPING_BYTES>>,
    /// SHA-256 of its bytes, decompressed.
    pub sha256: Sha256Text,
    /// Bytes, decompressed.
    pub bytes: Count,
    /// Records.
    pub lines: Count,
    /// Events that were made of them.
    pub events: Count,
    /// The reason why it was not read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FreeText>,
}

/// `import.accepted`: from here on an import counts towards trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportAccepted {
    /// The import's digest.
    pub digest: Sha256Text,
    /// The person on whose behalf it was done; the event's actor did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<FreeText>,
}

impl EventData for ImportBatch {
    const KIND: &'static str = "import.batch";
    const VERSION: u32 = 1;
}

impl EventData for ImportAccepted {
    const KIND: &'static str = "import.accepted";
    const VERSION: u32 = 1;
}
