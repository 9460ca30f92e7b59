//! `report`: a summary of a ledger's history, on one page.

mod data;
mod html;
mod section;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::data::ReportData;
use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::new_file::{self, NewFileError};
use crate::ledger_access::service::with_read_models;
use crate::options::global::Global;
use crate::options::prices::Prices;
use crate::terminal::output::Output;

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    #[command(subcommand)]
    command: ReportCommand,
}

#[derive(Debug, Subcommand)]
enum ReportCommand {
    /// Show suggested rules, cheaper models, costs, gaps and pending approvals, each with positions to look at.
    Learned {
        /// Write it as an HTML page to this file, which must not exist.
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        html: Option<PathBuf>,
        /// Prices of a million tokens for answers of models without a cost, as `costs --prices` takes them.
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        prices: Option<PathBuf>,
    },
}

/// The reason why a report was not written.
#[derive(Debug, thiserror::Error)]
#[error("{0}; the report was not written")]
pub(crate) struct ReportFailure(#[from] NewFileError);

impl CommandFailure for ReportFailure {}

pub(crate) fn run(
    arguments: &ReportArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let ReportCommand::Learned { html, prices } = &arguments.command;
    html.as_deref().map_or(Ok(()), new_file::refuse_existing).map_err(ReportFailure)?;
    let prices = prices.as_deref().map(Prices::read).transpose()?;
    let gathered = with_read_models(global, ReportData::gather)?;
    if global.json {
        output.json_text(&gathered.to_json())?;
        return Ok(Exit::Done);
    }
    let sections = gathered.sections(prices.as_ref());
    let title = format!("what ledger {} learned, up to position {}", global.ledger, gathered.position());
    let Some(path) = html else {
        section::write(&title, &sections, output)?;
        return Ok(Exit::Done);
    };
    let page = html::page(&title, &sections);
    new_file::write(path, page.as_bytes()).map_err(ReportFailure)?;
    output.line(format_args!(
        "written to {}",
        crate::terminal::output::printable(&path.display().to_string())
    ))?;
    Ok(Exit::Done)
}
