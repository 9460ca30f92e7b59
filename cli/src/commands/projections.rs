//! `projections`: the progress of read models, and their rebuild.

use std::thread;
use std::time::Instant;

use bitacora_api::{ProjectionAnswer, ProjectionList, RebuildAnswer};
use clap::Subcommand;
use hyper::Method;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{ListPage as _, each_page_by};
use crate::ledger_access::query::named;
use crate::ledger_access::service::{FOLD_PATIENCE, FOLD_PAUSE, ServiceClient, ServiceUse};
use crate::options::optional_command::OptionalCommand;
use crate::rows::{Row, RowTable};
use crate::terminal::output::printable;
use crate::terminal::table::{Cell, TextTable, cells};

pub(crate) type ProjectionsArguments = OptionalCommand<ProjectionsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectionsCommand {
    /// Show all read models (default); exit code 50 where one is degraded or has stopped.
    List,
    /// Rebuild a read model from the log, beside the current one, which it then replaces.
    Rebuild {
        /// The read model's name.
        name: String,
    },
}

/// The digits of a digest that are shown.
const DIGEST_DIGITS: usize = 16;

pub(crate) fn run(
    arguments: &ProjectionsArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    context.asking(ServiceUse::ReadModels);
    let Some(ProjectionsCommand::Rebuild { name }) = &arguments.command else { return list(context) };
    let path = format!("{}:rebuild", named("projections", name));
    let answer = context.send(&Method::POST, &path, None::<&()>)?;
    context.answer(&answer, |begun: &RebuildAnswer, output| {
        output.line(format_args!("{} is being folded again", printable(&begun.projection)))
    })
}

fn list(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let end = Instant::now() + FOLD_PATIENCE;
    let (joined, list) = loop {
        let service = context.service()?;
        let (joined, list) = all(service)?;
        // A folder was opened just now, and is taken up.
        let is_taken_up = !list.iter().any(|one| one.state == "rebuilding");
        if is_taken_up || !service.is_within() || Instant::now() >= end {
            break (joined, list);
        }
        thread::sleep(FOLD_PAUSE);
    };
    if context.is_json() {
        context.output.json_text(&joined.to_json())?;
    } else {
        TextTable::of(&list).write("there are none", &mut context.output)?;
    }
    let fails = |one: &ProjectionAnswer| ["degraded", "stopped"].contains(&one.state.as_str());
    Ok(if list.iter().any(fails) { Exit::Incomplete } else { Exit::Done })
}

/// Returns the read models of all ledgers, as JSON and parsed.
fn all(service: &mut ServiceClient) -> Result<(MergedPages, Vec<ProjectionAnswer>), CommandError> {
    let (mut joined, mut list) = (MergedPages::new(ProjectionList::LISTS), Vec::new());
    each_page_by(ServiceClient::get_of_all, service, "projections", |text, page: ProjectionList| {
        joined.take(text)?;
        list.extend(page.projections);
        Ok(())
    })?;
    Ok((joined, list))
}

impl Row for ProjectionAnswer {
    const HEADINGS: &'static [&'static str] =
        &["ledger", "name", "version", "state", "position", "lag", "rows", "digest"];

    fn cells(&self) -> Vec<Cell> {
        let digest: String =
            self.digest.iter().flat_map(|digest| digest.chars()).take(DIGEST_DIGITS).collect();
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        cells![
            Cell::id(&self.ledger),
            Cell::id(&self.name),
            self.version,
            format!("{}{why}", self.state),
            Cell::id(&self.position),
            self.lag,
            self.rows,
            Cell::id(digest),
        ]
    }
}
