//! `export.made`: events left the ledger as a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoundedText, Count, EventData, EventPosition, Sha256Text};

/// The source of `export.made`, which the service records for its callers.
pub const EXPORT_SOURCE: &str = "urn:bitacora:export";
/// Bytes of the selection of an export.
pub const MAX_EXPORT_SELECTION_BYTES: usize = 16 * 1024;

/// The format of an export's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// One stored event a line, as reads answer it.
    Jsonl,
    /// A batch of CloudEvents in JSON.
    Cloudevents,
    /// Comma-separated values.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Events of the Open Cybersecurity Schema Framework, one a line.
    Ocsf,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Jsonl, Self::Cloudevents, Self::Csv, Self::Parquet, Self::Ocsf];

    /// Returns the format's name in events and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Cloudevents => "cloudevents",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Ocsf => "ocsf",
        }
    }
}

/// `export.made`: events were written to a file. The manifest beside the file has its size, its digest and its range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportMade {
    /// The format of the file.
    pub format: ExportFormat,
    /// The selection of events, as the query of a read; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<BoundedText<MAX_EXPORT_SELECTION_BYTES>>,
    /// Events in the file.
    pub rows: Count,
    /// The first of them, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<EventPosition>,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<EventPosition>,
    /// Bytes of the file.
    pub bytes: Count,
    /// SHA-256 of the file.
    pub sha256: Sha256Text,
    /// SHA-256 of the manifest.
    pub manifest_sha256: Sha256Text,
}

impl EventData for ExportMade {
    const KIND: &'static str = "export.made";
    const VERSION: u32 = 1;
}
