//! `panic` and `agents`: stops of all agents or of one, in every mode.

use bitacora_api::{StopRequest, StopsAnswer, SuspendedAgent};
use clap::{Args, Subcommand};
use hyper::Method;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::named;
use crate::ledger_access::service::ServiceFailure;
use crate::options::optional_command::OptionalCommand;
use crate::rows::{Row, RowList, RowTable};
use crate::terminal::output::printable;
use crate::terminal::table::{Cell, TextTable, cells};

/// The text for an empty list of suspended agents.
const NONE_SUSPENDED: &str = "no agent is suspended";

pub(crate) type PanicArguments = OptionalCommand<PanicCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum PanicCommand {
    /// Show whether the panic stop is engaged (default).
    Show,
    /// Deny every call from now on.
    Engage(Reason),
    /// Release the stop, and decide calls again.
    Release(Reason),
}

pub(crate) type AgentsArguments = OptionalCommand<AgentsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the suspended agents (default).
    List,
    /// Deny every call of this agent from now on.
    Suspend {
        /// The agent.
        agent: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Resume an agent, and decide its calls again.
    Resume {
        /// The agent.
        agent: String,
        #[command(flatten)]
        reason: Reason,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Reason {
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    reason: String,
}

impl Reason {
    fn request(self) -> StopRequest {
        StopRequest { reason: self.reason }
    }
}

pub(crate) fn run(arguments: PanicArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command.unwrap_or(PanicCommand::Show) {
        PanicCommand::Show => show(context),
        PanicCommand::Engage(reason) => context.post("panic", &reason.request()),
        PanicCommand::Release(reason) => {
            if !context.read::<StopsAnswer>("panic")?.panic {
                let why = "no panic is engaged; nothing was recorded".to_owned();
                return Err(ServiceFailure::NotThere(why).into());
            }
            context.act(&Method::DELETE, "panic", Some(&reason.request()))
        }
    }
}

fn show(context: &mut CommandContext) -> Result<Exit, CommandError> {
    let Some(stops) = context.pages::<StopsAnswer>("panic")? else { return Ok(Exit::Done) };
    context.output.line(match stops.first().map(|page| (page.panic, &page.reason)) {
        Some((true, Some(reason))) => printable(&format!("engaged: {reason}")),
        _ => "not engaged: calls are decided".to_owned(),
    })?;
    let suspended = TextTable::of(stops.iter().flat_map(|page| &page.suspended));
    suspended.write(NONE_SUSPENDED, &mut context.output)?;
    Ok(Exit::Done)
}

pub(crate) fn run_agents(
    arguments: AgentsArguments,
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let (agent, act, reason) = match arguments.command.unwrap_or(AgentsCommand::List) {
        AgentsCommand::List => return context.list::<StopsAnswer>("panic", NONE_SUSPENDED),
        AgentsCommand::Suspend { agent, reason } => (agent, "suspend", reason),
        AgentsCommand::Resume { agent, reason } => (agent, "resume", reason),
    };
    context.post(&format!("{}:{act}", named("agents", &agent)), &reason.request())
}

impl Row for SuspendedAgent {
    const HEADINGS: &'static [&'static str] = &["suspended", "reason"];

    fn cells(&self) -> Vec<Cell> {
        cells![Cell::id(&self.agent), &self.reason]
    }
}
