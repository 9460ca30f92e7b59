//! `costs`: costs and usage of models and tools.

pub(crate) mod sums;

use std::path::PathBuf;

use bitacora_api::{CostAnswer, CostList};
use clap::{Args, ValueEnum};

use self::sums::{heading, sums};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::service::{with_query, with_read_models};
use crate::options::global::Global;
use crate::options::prices::Prices;
use crate::terminal::output::Output;
use crate::terminal::table::TextTable;

#[derive(Debug, Args)]
pub(crate) struct CostsArguments {
    /// The grouping; several with commas between.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Model])]
    by: Vec<By>,
    /// Only from this day on, UTC.
    #[arg(long, value_name = "YYYY-MM-DD")]
    since: Option<String>,
    /// Only before this day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    before: Option<String>,
    /// Only costs of this model.
    #[arg(long)]
    model: Option<String>,
    /// Only costs of this task type.
    #[arg(long)]
    task: Option<String>,
    /// Only costs of this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Only costs of this tool; `-` for answers of models.
    #[arg(long)]
    tool: Option<String>,
    /// Only costs of this role.
    #[arg(long)]
    role: Option<String>,
    /// Only costs of this run.
    #[arg(long)]
    run: Option<String>,
    /// Only costs of this session.
    #[arg(long)]
    session: Option<String>,
    /// Only costs of runs about this case.
    #[arg(long)]
    case: Option<String>,
    /// The JSON list of prices for answers without a cost, in US dollars a million tokens: texts in `{"model", "in",
    /// "out", "cache_read", "cache_write"}`; the first matching model holds, and `*` ends a name; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Model,
    Task,
    Agent,
    Tool,
    Role,
    Run,
    Session,
    Case,
    Day,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Role => "role",
            Self::Run => "run",
            Self::Session => "session",
            Self::Case => "case",
            Self::Day => "day",
        }
    }

    fn of(self, cost: &CostAnswer) -> &str {
        let of = match self {
            Self::Model => &cost.model,
            Self::Task => &cost.task,
            Self::Agent => &cost.agent,
            Self::Tool => &cost.tool,
            Self::Role => &cost.role,
            Self::Run => &cost.run,
            Self::Session => &cost.session,
            Self::Case => &cost.case,
            Self::Day => &cost.day,
        };
        of.as_deref().unwrap_or("-")
    }
}

pub(crate) fn run(
    arguments: &CostsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let prices = arguments.prices.as_deref().map(Prices::read).transpose()?;
    let mut parts: Vec<By> = Vec::new();
    for by in &arguments.by {
        if !parts.contains(by) {
            parts.push(*by);
        }
    }
    let names: Vec<&str> = parts.iter().map(|by| by.name()).collect();
    // A price is a model's.
    let model_too = (prices.is_some() && !arguments.by.contains(&By::Model)).then_some(By::Model.name());
    let by = names.iter().copied().chain(model_too).collect::<Vec<_>>().join(",");
    let CostsArguments { since, before, model, task, agent, tool, role, run, session, case, .. } = arguments;
    let path = with_query(
        "costs",
        &[
            ("by", Some(by.as_str())),
            ("since", since.as_deref()),
            ("before", before.as_deref()),
            ("model", model.as_deref()),
            ("task", task.as_deref()),
            ("agent", agent.as_deref()),
            ("tool", tool.as_deref()),
            ("role", role.as_deref()),
            ("run", run.as_deref()),
            ("session", session.as_deref()),
            ("case", case.as_deref()),
        ],
    );
    with_read_models(global, |service| {
        let answer = service.get(&path)?;
        if global.json && prices.is_none() {
            return Ok(output.json_text(answer.text())?);
        }
        let list: CostList = answer.read()?;
        let of = |cost: &CostAnswer| parts.iter().map(|by| by.of(cost).to_owned()).collect();
        let (sums, total) = sums(&list, of, prices.as_ref());
        if global.json {
            return Ok(output.json_text(&sums::to_json(&names, &sums, &total))?);
        }
        let mut table = TextTable::new(&[&names[..], &heading(prices.is_some())].concat());
        for sum in &sums {
            let cells: Vec<String> = sum.of.iter().cloned().chain(sum.spending.cells()).collect();
            table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
        }
        if sums.len() > 1 {
            let all =
                std::iter::once("all".to_owned()).chain(vec![String::new(); names.len().saturating_sub(1)]);
            let cells: Vec<String> = all.chain(total.cells()).collect();
            table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let none = match list.outside {
            Some(outside) => format!("nothing was spent on these days; counted on other days: {outside}"),
            None => "nothing was spent".to_owned(),
        };
        table.write(&none, output)?;
        if prices.is_none() && total.is_untold() {
            output.line("no cost was told of these; --prices FILE estimates it from the tokens")?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}
