//! Exports of events as files.

use bitacora_vocabulary::ExportFormat;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An export to be recorded: its file, and the manifest beside it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ExportRequest {
    /// `jsonl`, `cloudevents`, `csv`, `parquet` or `ocsf`.
    #[schema(value_type = String)]
    pub format: ExportFormat,
    /// The selection of events, as the query of a read; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
    /// Events in the file.
    pub rows: u64,
    /// The position of the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The position of the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// SHA-256 of the manifest, hexadecimal. An export whose manifest is recorded already is not recorded again.
    pub manifest_sha256: String,
}
