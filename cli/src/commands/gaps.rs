//! `gaps`: calls with an incomplete record.

use bitacora_api::{CallList, GapList};
use clap::Args;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::{each_page, pages_to_show};
use crate::ledger_access::service::{ServiceClient, with_query, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, to_the_second};

/// The page size for calls that are only counted.
const PAGE_CALLS: &str = "1000";

#[derive(Debug, Args)]
pub(crate) struct GapsArguments {
    /// Only gaps of this session.
    #[arg(long)]
    session: Option<String>,
}

pub(crate) fn run(
    arguments: &GapsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let path = with_query("gaps", &[("session", arguments.session.as_deref())]);
    with_read_models(global, |service| {
        let Some(pages) = pages_to_show::<GapList>(service, &path, global, output)? else { return Ok(()) };
        let mut table =
            TextTable::new(&["position", "time", "recorded", "missing", "call", "where it was seen"]);
        for gap in pages.iter().flat_map(|page| &page.gaps) {
            let (time, recorded) = (to_the_second(&gap.time), to_the_second(&gap.recorded));
            table.row(&[&gap.position, &time, &recorded, &gap.missing, &gap.call, &gap.evidence]);
        }
        let session = arguments.session.as_deref();
        let is_none = pages.iter().all(|page| page.gaps.is_empty());
        let open = if is_none { open_calls(session, service)? } else { 0 };
        Ok(table.write(&no_gap(session.is_some(), open), output)?)
    })?;
    Ok(Exit::Done)
}

/// Counts the calls that have no outcome and may still get one.
pub(super) fn open_calls(session: Option<&str>, service: &mut ServiceClient) -> Result<usize, CommandError> {
    let mut open = 0;
    for state in ["open", "waiting"] {
        let query = [("outcome", Some(state)), ("session", session), ("limit", Some(PAGE_CALLS))];
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
