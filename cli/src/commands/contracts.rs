//! `contracts`: conditions before and after calls, their checks, and rollbacks.

use bitacora_api::{
    ContractAnswer, ContractCheckAnswer, ContractCheckList, ContractDefinitionAnswer, ContractList,
    ContractShown, RollbackAnswered, RollbackList,
};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::{named, with_query};
use crate::ledger_access::service::ServiceUse;
use crate::options::optional_command::OptionalCommand;
use crate::rows::{Row, RowList, RowTable};
use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells};

pub(crate) type ContractsArguments = OptionalCommand<ContractsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum ContractsCommand {
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
        /// Only rollbacks in this state: `pending`, `approved`, `rejected`, `expired`, `withdrawn` or `executed`.
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
    context: &mut CommandContext,
) -> Result<Exit, CommandError> {
    let Some(command) = &arguments.command else { return list(context) };
    match command {
        ContractsCommand::List => list(context),
        ContractsCommand::Show { contract } => {
            context.asking(ServiceUse::ReadModels).show(&named("contracts", contract), write)
        }
        ContractsCommand::Checks { contract, failed } => {
            let path = format!("{}/checks", named("contracts", contract));
            let path = with_query(&path, &json!({"failed": failed}));
            let context = context.asking(ServiceUse::ReadModels);
            context.list::<ContractCheckList>(&path, "there is no such check")
        }
        ContractsCommand::Rollbacks { state, agent, contract } => {
            let query = json!({"state": state, "agent": agent, "contract": contract});
            let context = context.asking(ServiceUse::ReadModels);
            context.list::<RollbackList>(&with_query("rollbacks", &query), "there is no such rollback")
        }
    }
}

fn list(context: &mut CommandContext) -> Result<Exit, CommandError> {
    context.list::<ContractList>("contracts", "no contract is defined")
}

impl Row for ContractAnswer {
    const HEADINGS: &'static [&'static str] = &["contract", "before", "after", "rollback", "blast radius"];

    fn cells(&self) -> Vec<Cell> {
        let [pre, post, rollback] = [&self.pre, &self.post, &self.rollback].map(Vec::len);
        cells![Cell::id(&self.contract), pre, post, rollback, Cell::id(&self.blast_radius)]
    }
}

fn write(shown: &ContractShown, output: &mut Output) -> Result<(), OutputError> {
    FieldLines::new()
        .with("contract", &shown.contract)
        .with("version", shown.version)
        .with("checks", shown.checks)
        .with("did not hold", shown.failed)
        .with("named first", format!("position {}", shown.first))
        .with("named last", format!("position {}", shown.last))
        .write(output)?;
    TextTable::of(&shown.definitions).write("no definition of it is recorded", output)
}

impl Row for ContractDefinitionAnswer {
    const HEADINGS: &'static [&'static str] =
        &["version", "position", "time", "by", "before", "after", "rollback"];

    fn cells(&self) -> Vec<Cell> {
        let kinds = |parts: &[Value]| {
            let kinds = parts.iter().filter_map(|part| part.get("type")?.as_str());
            kinds.collect::<Vec<_>>().join(", ")
        };
        cells![
            self.version,
            Cell::id(&self.position),
            Cell::time(&self.time),
            &self.actor,
            kinds(&self.pre),
            kinds(&self.post),
            kinds(&self.rollback),
        ]
    }
}

impl Row for ContractCheckAnswer {
    const HEADINGS: &'static [&'static str] =
        &["position", "time", "phase", "holds", "counted", "rollback", "call", "why not"];
    const DISPENSABLE: &'static [&'static str] = &["rollback", "counted"];

    fn cells(&self) -> Vec<Cell> {
        let missing = self.missing.iter().map(|kind| format!("{kind} not made"));
        let why: Vec<_> = self.failed.iter().cloned().chain(missing).collect();
        cells![
            Cell::id(&self.position),
            Cell::time(&self.time),
            Cell::id(&self.phase),
            if self.holds { "yes" } else { "no" },
            Cell::maybe_id(self.counted.as_ref()),
            Cell::maybe_id(self.rollback.as_ref()),
            Cell::maybe_id(self.call.as_ref()),
            why.join(", "),
        ]
    }
}

impl Row for RollbackAnswered {
    const HEADINGS: &'static [&'static str] =
        &["position", "time", "state", "approval", "cause", "contract", "agent", "call", "what was done"];
    const DISPENSABLE: &'static [&'static str] = &["cause", "contract", "agent"];

    fn cells(&self) -> Vec<Cell> {
        let done = self.execution.as_ref().map(|execution| {
            let failed = execution.failed.join(", ");
            let failed = if failed.is_empty() { failed } else { format!(", without {failed}") };
            let (status, steps) = (&execution.status, execution.steps);
            format!("{status} of {steps} steps (position {}){failed}", execution.position)
        });
        cells![
            Cell::id(&self.position),
            Cell::time(&self.time),
            Cell::id(&self.state),
            Cell::maybe_id(self.approval.as_ref()),
            Cell::maybe_id(self.cause.as_ref()),
            &self.contract,
            &self.agent,
            Cell::maybe_id(self.call.as_ref()),
            done,
        ]
    }
}
