//! `gaps`: calls with an incomplete record.

use bitacora_api::{CallList, GapAnswer, GapList};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::each_page;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::{ServiceClient, ServiceUse};
use crate::terminal::table::{Cell, Row, TextTable, cells};

/// The page size for calls that are only counted.
const PAGE_CALLS: u32 = 1000;

#[derive(Debug, Args, Serialize)]
pub(crate) struct GapsArguments {
    /// Only gaps of this session.
    #[arg(long)]
    session: Option<String>,
}

pub(crate) fn run(arguments: &GapsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    context.asking(ServiceUse::ReadModels);
    let Some(pages) = context.pages::<GapList>(&with_query("gaps", arguments))? else {
        return Ok(Exit::Done);
    };
    let table = TextTable::of(pages.iter().flat_map(|page| &page.gaps));
    let session = arguments.session.as_deref();
    let open = if table.is_empty() { open_calls(session, context.service()?)? } else { 0 };
    table.write(&no_gap(session.is_some(), open), &mut context.output)?;
    Ok(Exit::Done)
}

impl Row for GapAnswer {
    const HEADINGS: &'static [&'static str] =
        &["position", "time", "recorded", "missing", "call", "where it was seen"];
    const DISPENSABLE: &'static [&'static str] = &["recorded"];

    fn cells(&self) -> Vec<Cell> {
        let (time, recorded) = (Cell::time(&self.time), Cell::time(&self.recorded));
        let (position, call) = (Cell::id(&self.position), Cell::id(&self.call));
        cells![position, time, recorded, &self.missing, call, &self.evidence]
    }
}

/// Counts the calls that have no outcome and may still get one.
pub(super) fn open_calls(session: Option<&str>, service: &mut ServiceClient) -> Result<usize, CommandError> {
    let mut open = 0;
    for state in ["open", "pending"] {
        let query = json!({"outcome": state, "session": session, "limit": PAGE_CALLS});
        each_page(service, &with_query("calls", &query), |_, page: CallList| {
            open += page.calls.len();
            Ok(())
        })?;
    }
    Ok(open)
}

/// Returns the text for an empty list of gaps, of all calls or of one session's.
pub(super) fn no_gap(is_of_session: bool, open: usize) -> String {
    match open {
        0 if is_of_session => "no gap was recorded of this session".to_owned(),
        0 => "of every call that is known, both halves are recorded".to_owned(),
        1 => "no gap was recorded; 1 call has no outcome yet".to_owned(),
        open => format!("no gap was recorded; {open} calls have no outcome yet"),
    }
}
