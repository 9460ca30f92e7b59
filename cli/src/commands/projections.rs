//! `projections`: how far what is made of the log has come.

use std::thread;
use std::time::Instant;

use bitacora_server::answers::{ProjectionList, RebuildAnswer};
use clap::{Args, Subcommand};

use crate::arguments::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{Output, printable};
use crate::service::{FOLD_PATIENCE, FOLD_PAUSE, with_read_models};
use crate::table::Table;
use bitacora_client::percent_encoded;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ProjectionsArguments {
    #[command(subcommand)]
    command: Option<ProjectionsCommand>,
}

#[derive(Debug, Subcommand)]
enum ProjectionsCommand {
    /// Show them all. This is what happens without a command.
    List,
    /// Fold a read model again from the log, beside the one that answers, whose place it takes.
    Rebuild {
        /// Its name.
        name: String,
    },
}

/// Digits of a digest that are shown.
const DIGEST_DIGITS: usize = 16;

pub(crate) fn run(
    arguments: &ProjectionsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&ProjectionsCommand::List) {
        ProjectionsCommand::List => list(global, output)?,
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

fn list(global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_read_models(global, |service| {
        let end = Instant::now() + FOLD_PATIENCE;
        let (answer, list) = loop {
            let answer = service.get_of_all("projections")?;
            let list: ProjectionList = answer.read()?;
            // A folder was opened just now, and is taken up.
            let is_taken_up = !list.projections.iter().any(|one| one.state == "rebuilding");
            if is_taken_up || !service.is_within() || Instant::now() >= end {
                break (answer, list);
            }
            thread::sleep(FOLD_PAUSE);
        };
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let mut table =
            Table::new(&["ledger", "name", "version", "state", "position", "lag", "rows", "digest"]);
        for one in &list.projections {
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
        Ok(table.write("there are none", output)?)
    })
}
