//! The summary of a finished export, for people and for programs.

use serde_json::{Value, json};

use crate::export_file::FinishedFile;

/// The record of an export in its ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedExport {
    /// The position of `export.made`.
    pub position: String,
    /// `true` if the ledger's receipt lies beside the file.
    pub has_receipt: bool,
}

impl FinishedFile {
    /// Returns the summary as lines; `file` is the file's name.
    #[must_use]
    pub fn lines(&self, file: &str, recorded: Option<&RecordedExport>) -> Vec<String> {
        let range = match (self.tally.first, self.tally.last) {
            (Some(first), Some(last)) => format!(", positions {first} to {last}"),
            _ => String::new(),
        };
        let recorded = match recorded {
            Some(RecordedExport { position, has_receipt: true }) => {
                format!("at position {position}, receipt {file}.receipt")
            }
            Some(RecordedExport { position, .. }) => format!("at position {position}"),
            None => "no: a folder records an export with --record alone".to_owned(),
        };
        vec![
            format!("file        {file}"),
            format!("rows        {}{range}", self.tally.rows),
            format!("bytes       {}, SHA-256 {}", self.bytes, self.sha256),
            format!("manifest    {file}.manifest.json, SHA-256 {}", self.manifest_sha256),
            format!("recorded    {recorded}"),
        ]
    }

    /// Returns the summary as JSON.
    #[must_use]
    pub fn to_json(&self, file: &str, recorded: Option<&RecordedExport>) -> Value {
        let position = |position: Option<u64>| position.map(|position| position.to_string());
        json!({
            "file": file,
            "format": self.plan.format,
            "rows": self.tally.rows,
            "first": position(self.tally.first),
            "last": position(self.tally.last),
            "bytes": self.bytes,
            "sha256": self.sha256,
            "manifestSha256": self.manifest_sha256,
            "recorded": recorded.map(|recorded| &recorded.position),
        })
    }
}
