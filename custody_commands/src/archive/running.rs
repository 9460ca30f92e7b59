//! `archive plan` and `archive run`: the events that are due, and their archiving.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use bitacora_archiver::{
    AcceptedArchive, ArchivePace, ArchiveRun, Archiver, DueRange, Outcome, Period, Release, Rules,
};
use bitacora_formats::Micros;
use bitacora_ledger::ReleaseExtent;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{ArchiveFailure, OpenedLedger, interruptible};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::options::global::Global;
use crate::options::time::age;
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{TextTable, cells};

#[derive(Debug, Args)]
pub(super) struct PlanArguments {
    #[command(flatten)]
    rules: RulesArguments,
}

#[derive(Debug, Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    rules: RulesArguments,
    /// Keep all segments, also those whose events are all archived.
    #[arg(long)]
    keep_segments: bool,
    /// The number of threads that encode and decode. [default: the number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

/// The rules that make events due.
#[derive(Debug, Args)]
struct RulesArguments {
    /// Archive everything that can be archived, however new it is.
    #[arg(long)]
    now: bool,
    /// The age from which on events are due: 90d.
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "90d")]
    after: Micros,
    /// The number of unarchived events above which the older half of them is due, however new.
    #[arg(long, value_name = "EVENTS")]
    over: Option<u64>,
    /// The longest period of one archive.
    #[arg(long, value_enum, default_value_t = PeriodName::Month)]
    period: PeriodName,
    /// The largest number of events of one archive.
    #[arg(long, value_name = "EVENTS")]
    most: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PeriodName {
    /// A day, UTC.
    Day,
    /// A month, UTC.
    Month,
    /// Any period.
    Any,
}

impl RulesArguments {
    fn rules(&self) -> Rules {
        let all = Rules::default();
        Rules {
            cold_after: Some(Duration::from_micros(self.after.0)),
            hot_events: self.over,
            period: match self.period {
                PeriodName::Day => Period::Day,
                PeriodName::Month => Period::Month,
                PeriodName::Any => Period::Any,
            },
            archive_events: self.most.unwrap_or(all.archive_events),
            is_forced: self.now,
        }
    }
}

impl OpenedLedger {
    pub(super) fn archiver(&self) -> Archiver {
        Archiver::new(
            self.ledger.clone(),
            &self.known.folder,
            &self.known.environment,
            &self.keyring,
            Arc::clone(&self.known.objects),
            self.store.clone(),
        )
    }
}

pub(super) fn plan(
    arguments: &PlanArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let place = OpenedLedger::for_reading(global)?;
    let due = place.archiver().plan(&arguments.rules.rules()).map_err(ArchiveFailure::from)?;
    if global.json {
        output.json(&json!({"due": due.iter().map(due_json).collect::<Value>()}))?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::new(&["first", "last", "events"]);
    for one in &due {
        table.add(cells![one.first.get(), one.last.get(), one.events()]);
    }
    table.write("nothing is due", output)?;
    Ok(Exit::Done)
}

fn due_json(due: &DueRange) -> Value {
    json!({"first": due.first.to_string(), "last": due.last.to_string(), "events": due.events()})
}

pub(super) fn run(
    arguments: &RunArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let place = OpenedLedger::for_writing(global)?;
    let archiver = place.archiver();
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let run = ArchiveRun {
        rules: arguments.rules.rules(),
        pace: ArchivePace::Full { threads: arguments.threads.map_or_else(cores, NonZero::get) },
        release: if arguments.keep_segments { Release::Never } else { Release::OnceProven },
    };
    let progress = Arc::clone(archiver.progress());
    let outcome = interruptible(&progress, move || Ok(archiver.run(&run)?));
    let closed = place.ledger.close().map_err(ArchiveFailure::from);
    let outcome = outcome?;
    closed?;
    if global.json {
        output.json(&to_json(&outcome))?;
    } else {
        write(&outcome, output)?;
    }
    Ok(Exit::Done)
}

fn to_json(outcome: &Outcome) -> Value {
    let archived = |one: &AcceptedArchive| {
        json!({
            "first": one.range.first().to_string(),
            "last": one.range.last().to_string(),
            "events": one.range.events(),
            "bytes": one.bytes,
            "name": one.name,
            "wasThere": one.was_there,
        })
    };
    let archived: Value = outcome.archived.iter().map(archived).collect();
    let mut told = json!({"archived": archived, "unproven": outcome.is_unproven});
    if let (Some(released), Some(told)) = (&outcome.released, told.as_object_mut()) {
        let ReleaseExtent { first, last, segments, bytes } = released;
        let (first, last) = (first.to_string(), last.to_string());
        let released = json!({"first": first, "last": last, "segments": segments, "bytes": bytes});
        told.insert("released".to_owned(), released);
    }
    told
}

fn write(outcome: &Outcome, output: &mut Output) -> Result<(), OutputError> {
    for one in &outcome.archived {
        let (range, events, bytes) = (one.range, one.range.events(), one.bytes);
        let found = if one.was_there { "; it was in the store already" } else { "" };
        output.line(format_args!("archived positions {range}: {events} events in {bytes} bytes{found}"))?;
    }
    if outcome.archived.is_empty() {
        output.line("nothing is due")?;
    }
    if let Some(ReleaseExtent { first, last, segments, bytes }) = outcome.released {
        output
            .line(format_args!("released positions {first}-{last}: {segments} segments of {bytes} bytes"))?;
    }
    if outcome.is_unproven {
        output.line("no segment was released: the log could not be proven; see `bitacora verify`")?;
    }
    Ok(())
}
