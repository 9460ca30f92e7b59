//! The record of an export in its ledger, and the signed receipt of that.

use bitacora_api::{ActAnswer, ExportRequest};
use bitacora_export::{FinishedFile, RecordedExport};
use bitacora_formats::limits::MAX_RECEIPT_BYTES;
use hyper::Method;

use super::failure::ExportFailure;
use crate::error::CommandError;
use crate::ledger_access::context::CommandContext;

/// Records the export, and keeps the ledger's receipt beside the file where one is given in time.
pub(super) fn record(
    finished: &FinishedFile,
    context: &mut CommandContext,
) -> Result<RecordedExport, CommandError> {
    let tally = &finished.tally;
    let selection = &finished.plan.selection;
    let request = ExportRequest {
        format: finished.plan.format,
        selection: (!selection.is_empty()).then(|| selection.clone()),
        rows: tally.rows,
        first: tally.first.map(|first| first.to_string()),
        last: tally.last.map(|last| last.to_string()),
        bytes: finished.bytes,
        sha256: finished.sha256.clone(),
        manifest_sha256: finished.manifest_sha256.clone(),
    };
    let answer = context.send(&Method::POST, "exports", Some(&request))?;
    let ActAnswer { position } = answer.read()?;
    // The event vouches for the export already; a receipt spares its holder the log.
    let receipt = context.service()?.file(&format!("receipts/{position}"), MAX_RECEIPT_BYTES);
    let has_receipt = match receipt {
        Ok(receipt) => {
            finished.write_receipt(&receipt).map_err(ExportFailure::from)?;
            true
        }
        Err(_) => false,
    };
    Ok(RecordedExport { position, has_receipt })
}
