//! `archive expire`: the content of events whose time is over goes from archives.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_archiver::{ArchivePace, ArchiverError, ExpiryMode, ExpiryReport, ExpiryResult, RestingEvents};
use bitacora_data_folder::lost_folders;
use bitacora_formats::{Micros, format_time};
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
    /// Count ages up to now although the ledger was closed for long: look at the clock first.
    #[arg(long)]
    clock_is_right: bool,
}

pub(super) fn expire(
    arguments: &ExpireArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let place = match arguments.dry_run {
        true => OpenedLedger::for_questions(global)?,
        false => OpenedLedger::for_writing(global)?,
    };
    let archiver = place.archiver();
    let mode = if arguments.dry_run { ExpiryMode::DryRun } else { ExpiryMode::Remove };
    let clock_is_right = arguments.clock_is_right;
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (progress, ledger) = (Arc::clone(archiver.progress()), place.ledger.clone());
    let looked = interruptible(&progress, move || {
        let history = ledger.retention_history(|query| ledger.read(query))?;
        let mut looked = ExpiryLook::default();
        if let Some(rules) = ledger.expiry_rules(history)? {
            let rules = if clock_is_right { rules.trusting_the_clock() } else { rules };
            looked.counted_until = rules.standstill();
            let pace = ArchivePace::Full { threads };
            let expired = archiver.expire(&rules, mode, pace, &mut |report| looked.reports.push(report));
            looked.ended = expired.err();
        } else if mode == ExpiryMode::Remove {
            archiver.settle_expiry(ArchivePace::Full { threads })?;
        }
        Ok(looked)
    });
    let lost = lost_folders(&*place.known.environment.disk, &place.known.folder);
    let closed = place.ledger.close().map_err(ArchiveFailure::from);
    let looked = ExpiryLook { lost: lost.unwrap_or_default(), ..looked? };
    // What was removed is told, whatever came after it.
    looked.write(global.json, output)?;
    looked.ended.map_or(Ok(()), |error| Err(ArchiveFailure::from(error)))?;
    closed?;
    Ok(Exit::Done)
}

/// The result of a look for expired events.
#[derive(Default)]
struct ExpiryLook {
    reports: Vec<ExpiryReport>,
    /// The time up to which ages were counted, if the ledger stood still for long.
    counted_until: Option<Micros>,
    /// Folders that hold what the ledger was before it was restored. Nothing expires in them.
    lost: Vec<PathBuf>,
    /// The error that ended it, or the first of one archive.
    ended: Option<ArchiverError>,
}

impl ExpiryLook {
    fn write(&self, json: bool, output: &mut Output) -> Result<(), OutputError> {
        let Self { reports, counted_until, lost, .. } = self;
        let until = counted_until.map(format_time);
        if json {
            let archives = reports.iter().map(to_json).collect::<Value>();
            let lost: Vec<String> = lost.iter().map(|folder| folder.display().to_string()).collect();
            return output.json(&json!({"archives": archives, "countedUntil": until, "lostFolders": lost}));
        }
        write(reports, output)?;
        if let Some(until) = until {
            output.line(format_args!(
                "ages are counted up to {until}: nothing was recorded for more than a week after that, or the clock is ahead"
            ))?;
            output.line("if the clock is right, run the command again with --clock-is-right")?;
        }
        for folder in lost {
            let folder = printable(&folder.display().to_string());
            output.line(format_args!(
                "nothing expires in {folder}, which holds the ledger as it was before it was restored: remove it once nobody needs it"
            ))?;
        }
        Ok(())
    }
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
