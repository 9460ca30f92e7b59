//! The manifest of an export: what the file holds, and the head of the ledger that it was read at.

use bitacora_vocabulary::ExportFormat;
use serde::Serialize;

use crate::encoders::OCSF_VERSION;
use crate::export_plan::{ExportPlan, HeadMark};
use crate::row_tally::{PositionGap, RowTally};

/// The name and version of the manifest's layout.
pub const MANIFEST_FORMAT: &str = "bitacora-export/1";

/// A declared loss in the range of an export: the event that begins the generation after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeclaredLossMark {
    /// The position of `ledger.recovered`.
    pub position: String,
}

/// The manifest, in the order of its members.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportManifest<'a> {
    manifest: &'static str,
    file: &'a str,
    format: ExportFormat,
    #[serde(skip_serializing_if = "Option::is_none")]
    ocsf_version: Option<&'static str>,
    ledger: &'a str,
    name: &'a str,
    selection: &'a str,
    head: &'a HeadMark,
    began: &'a str,
    rows: u64,
    first: Option<String>,
    last: Option<String>,
    erased: u64,
    expired: u64,
    unreadable: u64,
    bytes: u64,
    sha256: &'a str,
    losses: Vec<DeclaredLossMark>,
    gaps: &'a [PositionGap],
    more_gaps: u64,
    recorded: bool,
}

impl<'a> ExportManifest<'a> {
    /// Returns the manifest of a file.
    pub(crate) fn new(
        plan: &'a ExportPlan,
        file: &'a str,
        tally: &'a RowTally,
        (bytes, sha256): (u64, &'a str),
        losses: Vec<DeclaredLossMark>,
    ) -> Self {
        Self {
            manifest: MANIFEST_FORMAT,
            file,
            format: plan.format,
            ocsf_version: (plan.format == ExportFormat::Ocsf).then_some(OCSF_VERSION),
            ledger: &plan.ledger,
            name: &plan.name,
            selection: &plan.selection,
            head: &plan.head,
            began: &plan.began,
            rows: tally.rows,
            first: tally.first.map(|position| position.to_string()),
            last: tally.last.map(|position| position.to_string()),
            erased: tally.erased,
            expired: tally.expired,
            unreadable: tally.unreadable,
            bytes,
            sha256,
            losses,
            gaps: &tally.gaps,
            more_gaps: tally.more_gaps,
            recorded: plan.is_recorded,
        }
    }

    /// Returns its bytes: JSON of one member a line, and a line feed.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
