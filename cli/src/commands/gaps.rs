//! `gaps`: calls of which half of the record is missing.

use bitacora_server::answers::GapList;
use clap::Args;

use crate::arguments::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::Output;
use crate::pages::pages_to_show;
use crate::service::{with_query, with_read_models};
use crate::table::{Table, to_the_second};

#[derive(Debug, Args)]
pub(crate) struct GapsArguments {
    /// Only those of this session.
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
        let mut table = Table::new(&["position", "time", "missing", "call", "where it was seen"]);
        for gap in pages.iter().flat_map(|page| &page.gaps) {
            table.row(&[&gap.position, &to_the_second(&gap.time), &gap.missing, &gap.call, &gap.evidence]);
        }
        Ok(table.write("of every call that is known, both halves are recorded", output)?)
    })?;
    Ok(Exit::Done)
}
