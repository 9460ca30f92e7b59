//! The plan of an export: its ledger, its selection and the head that it ends at. A resumed export keeps it.

use bitacora_vocabulary::ExportFormat;
use serde::{Deserialize, Serialize};

/// A head, as answers name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadMark {
    /// The position.
    pub position: String,
    /// The chain hash up to it, in hexadecimal.
    pub hash: String,
}

/// Everything that is fixed when an export begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportPlan {
    /// The format of the file.
    pub format: ExportFormat,
    /// The ledger's id, in hexadecimal.
    pub ledger: String,
    /// The ledger's name.
    pub name: String,
    /// The selection, as the query of a read; empty for all events.
    pub selection: String,
    /// The head at the beginning. Nothing behind it is exported.
    pub head: HeadMark,
    /// The time at the beginning, RFC 3339.
    pub began: String,
    /// `true` if the ledger records the export.
    pub is_recorded: bool,
}

impl ExportPlan {
    /// Returns the member in which another plan differs, where a part made under this one cannot be gone on with under that.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let members = [
            ("format", self.format == other.format),
            ("ledger", self.ledger == other.ledger),
            ("selection", self.selection == other.selection),
        ];
        members.into_iter().find(|(_, is_same)| !is_same).map(|(name, _)| name)
    }
}
