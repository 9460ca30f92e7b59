//! `tiers`: what decides from memory, what answers from this disk, and what lies in archives.

use std::fmt::Write as _;

use bitacora_api::{ArchivedRange, DiskTier, ModelTier, StateTier, TiersAnswer};
use clap::Args;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{Cell, TextTable, cells, to_the_second};

const HEADINGS: [&str; 7] = ["tier", "part", "holds", "bytes", "from", "to", "state"];
/// The first position of the history.
const FIRST: &str = "1";

/// The arguments of `tiers`.
#[derive(Debug, Args)]
pub struct TiersArguments {}

/// Runs `tiers`.
pub fn run(_: &TiersArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    context.show("tiers", write)
}

fn write(tiers: &TiersAnswer, output: &mut Output) -> Result<(), OutputError> {
    let mut table = TextTable::new(&HEADINGS);
    table.add(hot(&tiers.hot));
    warm(&tiers.warm).into_iter().for_each(|cells| table.add(cells));
    let cold = &tiers.cold;
    if cold.archives == 0 {
        table.add(cells!["cold", "archives", count(0, "archives"), 0_u64, "-", "-", "none sealed"]);
    }
    cold.ranges.iter().for_each(|range| table.add(archived(range)));
    table.write("", output)?;
    cold.faulty.iter().try_for_each(|fault| output.line(printable(fault)))?;
    if cold.more_ranges > 0 {
        output
            .line(format_args!("{} further ranges of archives: `bitacora archive list`", cold.more_ranges))?;
    }
    Ok(())
}

fn hot(hot: &StateTier) -> Vec<Cell> {
    let (from, to) = span(&hot.position);
    cells!["hot", "deciding state", count(hot.dimensions, "dimensions"), hot.bytes, from, to, "ok"]
}

fn warm(warm: &DiskTier) -> Vec<Vec<Cell>> {
    let DiskTier { segments, index, models } = warm;
    let proven = if segments.proven { "proven" } else { "being proven" };
    let since = segments.since.as_ref().map(|since| format!(", since {}", to_the_second(since)));
    let scrubbed = segments.scrubbed.as_ref().map(|time| format!(", scrubbed {}", to_the_second(time)));
    let state =
        Cell::whole([Some(proven.to_owned()), since, scrubbed].into_iter().flatten().collect::<String>());
    let to = if segments.first.is_some() { Cell::id(&segments.last) } else { "-".into() };
    let from = Cell::maybe_id(segments.first.as_ref());
    let mut rows =
        vec![cells!["warm", "segments", count(segments.files, "files"), segments.bytes, from, to, state]];
    let (from, to) = span(&index.position);
    let blocks = count(index.blocks, "blocks");
    rows.push(cells!["warm", "index", blocks, index.bytes, from, to, &index.state]);
    rows.extend(models.iter().map(model));
    rows
}

fn model(model: &ModelTier) -> Vec<Cell> {
    let (from, to) = span(&model.position);
    let rows = model.rows.map(|rows| count(rows, "rows"));
    let mut state = model.state.clone();
    if let Some((cut, left)) = model.cut.as_ref().zip(model.cold_rows) {
        let _written = write!(state, ", {left} rows up to {cut} are cold");
    }
    if let Some(late) = model.late_events {
        let _written = write!(state, ", {late} events are folded again");
    }
    cells!["warm", &model.name, rows, model.bytes, from, to, Cell::whole(state)]
}

fn archived(range: &ArchivedRange) -> Vec<Cell> {
    let store = range.store.as_deref().unwrap_or("a store that was not recorded");
    let verified = Cell::whole(format!("verified {}", to_the_second(&range.verified)));
    let (first, last) = (Cell::id(&range.first), Cell::id(&range.last));
    cells!["cold", store, count(range.archives, "archives"), range.bytes, first, last, verified]
}

/// Returns the cells of the positions from the first one to this one; `-` where there are none.
fn span(position: &str) -> (Cell, Cell) {
    if position == "0" { ("-".into(), "-".into()) } else { (Cell::id(FIRST), Cell::id(position)) }
}

fn count(number: u64, what: &str) -> Cell {
    Cell::whole(format!("{number} {what}"))
}
