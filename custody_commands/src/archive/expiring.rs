//! `archive expire`: the content of events whose time is over goes from archives.

use std::num::NonZero;
use std::sync::Arc;

use bitacora_archiver::{ArchivePace, ExpiryMode, ExpiryReport, ExpiryResult, RestingEvents};
use bitacora_ledger::OpenRuns;
use clap::Args;
use serde_json::{Value, json};

use super::{ArchiveFailure, OpenedLedger, interruptible};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::global::Global;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{TextTable, cells};

#[derive(Debug, Args)]
pub(super) struct ExpireArguments {
    /// Show what has expired; change nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn expire(
    arguments: &ExpireArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let place = OpenedLedger::for_writing(global)?;
    let archiver = place.archiver();
    let mode = if arguments.dry_run { ExpiryMode::DryRun } else { ExpiryMode::Remove };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (progress, ledger) = (Arc::clone(archiver.progress()), place.ledger.clone());
    let reports = interruptible(&progress, move || {
        let open_runs = OpenRuns::read(|query| ledger.read(query))?;
        let mut reports = Vec::new();
        if let Some(rules) = ledger.expiry_rules(open_runs)? {
            archiver
                .expire(&rules, mode, ArchivePace::Full { threads }, &mut |report| reports.push(report))?;
        }
        Ok(reports)
    });
    let closed = place.ledger.close().map_err(ArchiveFailure::from);
    let reports = reports?;
    closed?;
    if global.json {
        output.json(&json!({"archives": reports.iter().map(to_json).collect::<Value>()}))?;
    } else {
        write(&reports, output)?;
    }
    Ok(Exit::Done)
}

/// The name of the result for events that the deciding state rests on.
const WAITS_FOR_STATE: &str = "waits-for-state";

/// Returns a stable name of a result, and the bytes of the archive afterwards.
fn result_of(report: &ExpiryReport) -> (&'static str, u64) {
    match report.result {
        ExpiryResult::Due => ("due", report.bytes),
        ExpiryResult::Removed { bytes } => ("removed", bytes),
        ExpiryResult::WaitsForRelease => ("waits-for-release", report.bytes),
        ExpiryResult::WaitsForState => (WAITS_FOR_STATE, report.bytes),
    }
}

fn to_json(report: &ExpiryReport) -> Value {
    let (result, bytes) = result_of(report);
    json!({
        "first": report.range.first().to_string(),
        "last": report.range.last().to_string(),
        "events": report.events(),
        "types": report.kinds,
        "name": report.name,
        "bytes": bytes,
        "result": result,
        "waitsForState": report.resting.as_ref().map(|RestingEvents { kinds, why }| {
            json!({ "types": kinds, "why": why.to_string() })
        }),
    })
}

fn write(reports: &[ExpiryReport], output: &mut Output) -> Result<(), OutputError> {
    let mut table = TextTable::new(&["first", "last", "type", "events", "result"]);
    for report in reports {
        let (result, _) = result_of(report);
        for (kind, events) in &report.kinds {
            table.add(cells![report.range.first().get(), report.range.last().get(), kind, *events, result]);
        }
        for (kind, events) in report.resting.iter().flat_map(|resting| &resting.kinds) {
            let (first, last) = (report.range.first().get(), report.range.last().get());
            table.add(cells![first, last, kind, *events, WAITS_FOR_STATE]);
        }
    }
    table.write("nothing has expired", output)?;
    for report in reports {
        let Some(RestingEvents { why, .. }) = &report.resting else { continue };
        output.line(format_args!("positions {}: {}", report.range, printable(&why.to_string())))?;
    }
    Ok(())
}
