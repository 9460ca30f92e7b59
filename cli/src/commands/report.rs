//! `report`: a summary of a ledger's history, on one page.

mod answers;
mod section;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
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
        /// Prices of a million tokens for answers of models without a cost, as `costs --prices` takes them.
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        prices: Option<PathBuf>,
    },
}

pub(crate) fn run(arguments: &ReportArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let ReportCommand::Learned { prices } = &arguments.command;
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
    section::write(&title, &sections, &mut context.output)?;
    Ok(Exit::Done)
}
