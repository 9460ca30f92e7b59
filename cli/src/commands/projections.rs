//! `projections`: the progress of read models, and their rebuild.

use std::thread;
use std::time::Instant;

use bitacora_api::{ProjectionAnswer, ProjectionList, RebuildAnswer};
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{ListPage as _, each_page_by};
use crate::ledger_access::service::{FOLD_PATIENCE, FOLD_PAUSE, ServiceClient, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::TextTable;
use bitacora_client::percent_encoded;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ProjectionsArguments {
    #[command(subcommand)]
    command: Option<ProjectionsCommand>,
}

#[derive(Debug, Subcommand)]
enum ProjectionsCommand {
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
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&ProjectionsCommand::List) {
        ProjectionsCommand::List => return list(global, output),
        ProjectionsCommand::Rebuild { name } => {
            let path = format!("projections/{}:rebuild", percent_encoded(name));
            with_read_models(global, |service| {
                let answer = service.post(&path, None)?;
                if global.json {
                    return Ok(output.json_text(answer.text())?);
                }
                let begun: RebuildAnswer = answer.read()?;
                Ok(output.line(format_args!("{} is being folded again", printable(&begun.projection)))?)
            })?;
        }
    }
    Ok(Exit::Done)
}

fn list(global: &Global, output: &mut Output) -> Result<Exit, CommandError> {
    with_read_models(global, |service| {
        let end = Instant::now() + FOLD_PATIENCE;
        let (joined, list) = loop {
            let (joined, list) = all(service)?;
            // A folder was opened just now, and is taken up.
            let is_taken_up = !list.iter().any(|one| one.state == "rebuilding");
            if is_taken_up || !service.is_within() || Instant::now() >= end {
                break (joined, list);
            }
            thread::sleep(FOLD_PAUSE);
        };
        if global.json {
            output.json_text(&joined.to_json())?;
        } else {
            table(&list).write("there are none", output)?;
        }
        let fails = |one: &ProjectionAnswer| ["degraded", "stopped"].contains(&one.state.as_str());
        Ok(if list.iter().any(fails) { Exit::Incomplete } else { Exit::Done })
    })
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

fn table(list: &[ProjectionAnswer]) -> TextTable {
    let mut table =
        TextTable::new(&["ledger", "name", "version", "state", "position", "lag", "rows", "digest"]);
    for one in list {
        let digest: String =
            one.digest.iter().flat_map(|digest| digest.chars()).take(DIGEST_DIGITS).collect();
        table.row(&[
            &one.ledger,
            &one.name,
            &one.version.to_string(),
            &one.why.as_ref().map_or_else(|| one.state.clone(), |why| format!("{}: {why}", one.state)),
            &one.position,
            &one.lag.to_string(),
            &one.rows.map_or("-".to_owned(), |rows| rows.to_string()),
            &digest,
        ]);
    }
    table
}
