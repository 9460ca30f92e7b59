//! `report`: a summary of a ledger's history, on one page.

mod answers;
mod section;

use std::path::PathBuf;

use bitacora_report::report_page;
use clap::{Args, Subcommand};

use crate::error::{CommandError, CommandFailure};
use crate::exit::Exit;
use crate::files::new_file::{self, NewFileError};
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::service::ServiceUse;
use crate::options::prices::read_prices;

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

pub(crate) fn run(arguments: &ReportArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let ReportCommand::Learned { html, prices } = &arguments.command;
    html.as_deref().map_or(Ok(()), new_file::refuse_existing).map_err(ReportFailure)?;
    let prices = prices.as_deref().map(read_prices).transpose()?;
    let service = context.asking(ServiceUse::ReadModels).service()?;
    let (document, learned) = answers::gather(service)?;
    let people = KnownPeople::of(service)?;
    if context.is_json() {
        return context.print(&document);
    }
    let sections = learned.sections(prices.as_ref(), |actor| people.named(actor));
    let title =
        format!("what ledger {} learned, up to position {}", context.global.ledger, document.position);
    let Some(path) = html else {
        section::write(&title, &sections, &mut context.output)?;
        return Ok(Exit::Done);
    };
    let page = report_page(&title, &sections);
    new_file::write(path, page.as_bytes()).map_err(ReportFailure)?;
    context.say(format_args!("written to {}", path.display()))?;
    Ok(Exit::Done)
}
