//! `contracts`: conditions before and after calls, their checks, and rollbacks.

use bitacora_api::{ContractCheckList, ContractList, ContractShown, RollbackList};
use clap::{Args, Subcommand};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::pages_to_show;
use crate::ledger_access::service::{ServiceClient, with_query, with_read_models, with_service};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use bitacora_client::percent_encoded;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ContractsArguments {
    #[command(subcommand)]
    command: Option<ContractsCommand>,
}

#[derive(Debug, Subcommand)]
enum ContractsCommand {
    /// List the contracts with their last definitions (default).
    List,
    /// Show one contract, with its definitions.
    Show {
        /// The contract's name.
        contract: String,
    },
    /// List checks of a contract, the newest first.
    Checks {
        /// The contract; `-` for checks that name none.
        contract: String,
        /// Only failed checks.
        #[arg(long)]
        failed: bool,
    },
    /// List rollbacks and their states, the newest first.
    Rollbacks {
        /// Only rollbacks in this state: `asked`, `approved`, `rejected`, `expired`, `withdrawn` or `executed`.
        #[arg(long)]
        state: Option<String>,
        /// Only rollbacks of calls of this agent.
        #[arg(long)]
        agent: Option<String>,
        /// Only rollbacks of this contract.
        #[arg(long)]
        contract: Option<String>,
    },
}

pub(crate) fn run(
    arguments: &ContractsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match &arguments.command {
        None | Some(ContractsCommand::List) => with_service(global, |service| list(service, global, output))?,
        Some(ContractsCommand::Show { contract }) => {
            with_read_models(global, |service| show(contract, service, global, output))?;
        }
        Some(ContractsCommand::Checks { contract, failed }) => {
            let path = format!("contracts/{}/checks", percent_encoded(contract));
            let path = with_query(&path, &[("failed", failed.then_some("true"))]);
            with_read_models(global, |service| checks(&path, service, global, output))?;
        }
        Some(ContractsCommand::Rollbacks { state, agent, contract }) => {
            let asked =
                [("state", state.as_deref()), ("agent", agent.as_deref()), ("contract", contract.as_deref())];
            let path = with_query("rollbacks", &asked);
            with_read_models(global, |service| rollbacks(&path, service, global, output))?;
        }
    }
    Ok(Exit::Done)
}

fn list(service: &mut ServiceClient, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let Some(pages) = pages_to_show::<ContractList>(service, "contracts", global, output)? else {
        return Ok(());
    };
    let mut table = TextTable::new(&["contract", "before", "after", "rollback", "blast radius"]);
    for contract in pages.iter().flat_map(|page| &page.contracts) {
        table.row(&[
            &contract.contract,
            &contract.pre.len().to_string(),
            &contract.post.len().to_string(),
            &contract.rollback.len().to_string(),
            &contract.blast_radius,
        ]);
    }
    Ok(table.write("no contract is defined", output)?)
}

fn show(
    contract: &str,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let answer = service.get(&format!("contracts/{}", percent_encoded(contract)))?;
    if global.json {
        return Ok(output.json_text(answer.text())?);
    }
    let shown: ContractShown = answer.read()?;
    write_fields(
        &[
            ("contract", Some(&shown.contract)),
            ("version", Some(&shown.version.to_string())),
            ("checks", Some(&shown.checks.to_string())),
            ("did not hold", Some(&shown.failed.to_string())),
            ("named first", Some(&format!("position {}", shown.first))),
            ("named last", Some(&format!("position {}", shown.last))),
        ],
        output,
    )?;
    let kinds = |parts: &[serde_json::Value]| {
        let kinds = parts.iter().filter_map(|part| part.get("type")?.as_str());
        kinds.collect::<Vec<_>>().join(", ")
    };
    let mut table = TextTable::new(&["version", "position", "time", "by", "before", "after", "rollback"]);
    for definition in &shown.definitions {
        table.row(&[
            &definition.version.to_string(),
            &definition.position,
            &to_the_second(&definition.time),
            definition.actor.as_deref().unwrap_or("-"),
            &kinds(&definition.pre),
            &kinds(&definition.post),
            &kinds(&definition.rollback),
        ]);
    }
    Ok(table.write("no definition of it is recorded", output)?)
}

fn checks(
    path: &str,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Some(pages) = pages_to_show::<ContractCheckList>(service, path, global, output)? else {
        return Ok(());
    };
    let mut table =
        TextTable::new(&["position", "time", "phase", "holds", "counted", "rollback", "call", "why not"]);
    for check in pages.iter().flat_map(|page| &page.checks) {
        let missing = check.missing.iter().map(|kind| format!("{kind} not made"));
        let why: Vec<_> = check.failed.iter().cloned().chain(missing).collect();
        table.row(&[
            &check.position,
            &to_the_second(&check.time),
            &check.phase,
            if check.holds { "yes" } else { "no" },
            check.counted.as_deref().unwrap_or("-"),
            check.rollback.as_deref().unwrap_or("-"),
            check.call.as_deref().unwrap_or("-"),
            &why.join(", "),
        ]);
    }
    Ok(table.write("there is no such check", output)?)
}

fn rollbacks(
    path: &str,
    service: &mut ServiceClient,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Some(pages) = pages_to_show::<RollbackList>(service, path, global, output)? else { return Ok(()) };
    let mut table = TextTable::new(&[
        "position",
        "time",
        "state",
        "approval",
        "cause",
        "contract",
        "agent",
        "call",
        "what was done",
    ]);
    for rollback in pages.iter().flat_map(|page| &page.rollbacks) {
        let done = rollback.execution.as_ref().map_or("-".to_owned(), |execution| {
            let failed = execution.failed.join(", ");
            let failed = if failed.is_empty() { failed } else { format!(", without {failed}") };
            format!(
                "{} of {} steps (position {}){failed}",
                execution.status, execution.steps, execution.position
            )
        });
        table.row(&[
            &rollback.position,
            &to_the_second(&rollback.time),
            &rollback.state,
            rollback.approval.as_deref().unwrap_or("-"),
            rollback.cause.as_deref().unwrap_or("-"),
            rollback.contract.as_deref().unwrap_or("-"),
            rollback.agent.as_deref().unwrap_or("-"),
            rollback.call.as_deref().unwrap_or("-"),
            &done,
        ]);
    }
    Ok(table.write("there is no such rollback", output)?)
}
