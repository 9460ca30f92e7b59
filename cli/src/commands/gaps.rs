//! `gaps`: calls with an incomplete record.

use bitacora_api::{CallList, GapAnswer, GapList};
use bitacora_report::gapless_words;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::each_page;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::{ServiceClient, ServiceUse};
use crate::rows::{Row, RowTable};
use crate::terminal::table::{Cell, TextTable, cells};

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
    table.write(&gapless_words(session.is_some(), open), &mut context.output)?;
    Ok(Exit::Done)
}

impl Row for GapAnswer {
    const HEADINGS: &'static [&'static str] =
        &["position", "time", "recorded", "missing", "call", "by", "where it was seen"];
    const DISPENSABLE: &'static [&'static str] = &["recorded", "by"];

    fn cells(&self) -> Vec<Cell> {
        let (time, recorded) = (Cell::time(&self.time), Cell::time(&self.recorded));
        let (position, call) = (Cell::id(&self.position), Cell::id(&self.call));
        let by = self.actor.as_deref().unwrap_or("-");
        cells![position, time, recorded, &self.missing, call, by, &self.evidence]
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
