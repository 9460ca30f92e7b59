//! `panic` and `agents`: stops of all agents or of one, in every mode.

use bitacora_api::StopsAnswer;
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::service::{ServiceClient, ServiceFailure, with_service};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::TextTable;
use bitacora_client::percent_encoded;
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PanicArguments {
    #[command(subcommand)]
    command: Option<PanicCommand>,
}

#[derive(Debug, Subcommand)]
enum PanicCommand {
    /// Show whether the panic stop is engaged (default).
    Show,
    /// Deny every call from now on.
    Engage(Reason),
    /// Release the stop, and decide calls again.
    Release(Reason),
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentsArguments {
    #[command(subcommand)]
    command: Option<AgentsCommand>,
}

#[derive(Debug, Subcommand)]
enum AgentsCommand {
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
struct Reason {
    /// The reason.
    #[arg(long, value_name = "WORDS")]
    reason: String,
}

impl Reason {
    fn body(&self) -> String {
        JsonObject::new().text("reason", &self.reason).end()
    }
}

pub(crate) fn run(
    arguments: &PanicArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref().unwrap_or(&PanicCommand::Show) {
        PanicCommand::Show => with_service(global, |service| {
            let Some(stops) = stops(service, global, output)? else { return Ok(()) };
            match stops.first().map(|page| (page.panic, &page.reason)) {
                Some((true, Some(reason))) => output.line(printable(&format!("engaged: {reason}")))?,
                _ => output.line("not engaged: calls are decided")?,
            }
            Ok(write_suspended(&stops, output)?)
        })?,
        PanicCommand::Engage(reason) => {
            with_service(global, |service| {
                service.post("panic", Some(reason.body()))?.write_act(global, output)
            })?;
        }
        PanicCommand::Release(reason) => {
            with_service(global, |service| {
                let stops: StopsAnswer = service.get("panic")?.read()?;
                if !stops.panic {
                    return Err(ServiceFailure::NotThere(
                        "no panic is engaged; nothing was recorded".to_owned(),
                    )
                    .into());
                }
                service.delete("panic", Some(reason.body()))?.write_act(global, output)
            })?;
        }
    }
    Ok(Exit::Done)
}

pub(crate) fn run_agents(
    arguments: &AgentsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let (agent, act, reason) = match arguments.command.as_ref().unwrap_or(&AgentsCommand::List) {
        AgentsCommand::List => {
            with_service(global, |service| match stops(service, global, output)? {
                Some(stops) => Ok(write_suspended(&stops, output)?),
                None => Ok(()),
            })?;
            return Ok(Exit::Done);
        }
        AgentsCommand::Suspend { agent, reason } => (agent, "suspend", reason),
        AgentsCommand::Resume { agent, reason } => (agent, "resume", reason),
    };
    let path = format!("agents/{}:{act}", percent_encoded(agent));
    with_service(global, |service| service.post(&path, Some(reason.body()))?.write_act(global, output))?;
    Ok(Exit::Done)
}

/// Returns the stops, page by page, where they are for people and not shown already.
fn stops(
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<Option<Vec<StopsAnswer>>, CommandError> {
    pages_to_show(service, "panic", global, output)
}

fn write_suspended(
    pages: &[StopsAnswer],
    output: &mut Output,
) -> Result<(), crate::terminal::output::OutputError> {
    let mut table = TextTable::new(&["suspended", "reason"]);
    for suspended in pages.iter().flat_map(|page| &page.suspended) {
        table.row(&[&suspended.agent, &suspended.reason]);
    }
    table.write("no agent is suspended", output)
}
