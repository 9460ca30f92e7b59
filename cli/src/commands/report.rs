//! `report`: summaries of a ledger's history.

mod answers;
mod history;
mod section;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::commands::report::history::{Format, Span};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::principal_names::KnownPeople;
use crate::ledger_access::service::ServiceUse;
use crate::options::prices::read_prices;
use crate::options::time::PastTime;

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    #[command(subcommand)]
    command: ReportCommand,
}

#[derive(Debug, Subcommand)]
enum ReportCommand {
    /// Show a day (UTC): decisions, tools, agents, models, sessions, reviews and gaps.
    Day {
        /// The day: 2026-11-20, yesterday, today.
        date: PastTime,
        #[command(flatten)]
        format: Format,
    },
    /// Show who did what: calls by agent, actor and tool.
    WhoDidWhat {
        #[command(flatten)]
        span: Span,
        #[command(flatten)]
        format: Format,
    },
    /// Show tools: calls, verdicts, outcomes, durations and costs, on whole days (UTC).
    Tools {
        #[command(flatten)]
        span: Span,
        #[command(flatten)]
        format: Format,
    },
    /// Show reviews: who answered what, and how fast.
    Reviews {
        #[command(flatten)]
        span: Span,
        #[command(flatten)]
        format: Format,
    },
    /// Show suggested rules, cheaper models, costs, gaps and pending approvals, each with positions to look at.
    Learned {
        /// Prices of a million tokens for answers of models without a cost, as `costs --prices` takes them.
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        prices: Option<PathBuf>,
    },
}

pub(crate) fn run(arguments: &ReportArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let prices = match &arguments.command {
        ReportCommand::Day { date, format } => return history::day(*date, format, context),
        ReportCommand::WhoDidWhat { span, format } => return history::who_did_what(span, format, context),
        ReportCommand::Tools { span, format } => return history::tools(span, format, context),
        ReportCommand::Reviews { span, format } => return history::reviews(span, format, context),
        ReportCommand::Learned { prices } => prices,
    };
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
