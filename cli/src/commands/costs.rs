//! `costs`: what models and tools took.

use bitacora_server::answers::{CostAnswer, CostList, SpendingAnswer};
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::Output;
use crate::service::{with_query, with_read_models};
use crate::table::Table;

#[derive(Debug, Args)]
pub(crate) struct CostsArguments {
    /// What they are summed up by; several with commas between.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Model])]
    by: Vec<By>,
    /// Only from this day on, UTC.
    #[arg(long, value_name = "YYYY-MM-DD")]
    since: Option<String>,
    /// Only before this day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    before: Option<String>,
    /// Only those of this model.
    #[arg(long)]
    model: Option<String>,
    /// Only those of this task type.
    #[arg(long)]
    task: Option<String>,
    /// Only those of this agent.
    #[arg(long)]
    agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Model,
    Task,
    Agent,
    Day,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Day => "day",
        }
    }

    fn of(self, cost: &CostAnswer) -> &str {
        let of = match self {
            Self::Model => &cost.model,
            Self::Task => &cost.task,
            Self::Agent => &cost.agent,
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
    let by = arguments.by.iter().map(|by| by.name()).collect::<Vec<_>>().join(",");
    let CostsArguments { since, before, model, task, agent, .. } = arguments;
    let path = with_query(
        "costs",
        &[
            ("by", Some(by.as_str())),
            ("since", since.as_deref()),
            ("before", before.as_deref()),
            ("model", model.as_deref()),
            ("task", task.as_deref()),
            ("agent", agent.as_deref()),
        ],
    );
    with_read_models(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let list: CostList = answer.read()?;
        let names: Vec<&str> = arguments.by.iter().map(|by| by.name()).collect();
        let heading =
            ["USD", "of calls", "unpriced", "tokens in", "out", "from cache", "to cache", "positions"];
        let mut table = Table::new(&[&names[..], &heading].concat());
        for cost in &list.costs {
            let of: Vec<&str> = arguments.by.iter().map(|by| by.of(cost)).collect();
            row(&mut table, &of, &cost.spending);
        }
        if list.costs.len() > 1 {
            let mut total = vec![""; names.len()];
            if let Some(first) = total.first_mut() {
                *first = "all";
            }
            row(&mut table, &total, &list.total);
        }
        Ok(table.write("nothing was spent", output)?)
    })?;
    Ok(Exit::Done)
}

fn row(table: &mut Table, of: &[&str], spending: &SpendingAnswer) {
    let calls = (spending.model_calls + spending.tool_calls).to_string();
    let unpriced = spending.without_cost.to_string();
    let place = |position: &Option<String>| position.clone().unwrap_or_default();
    let positions = format!("{}-{}", place(&spending.first), place(&spending.last));
    let SpendingAnswer { cost_usd, tokens_in, tokens_out, cache_read, cache_write, .. } = spending;
    let spent = [cost_usd, &calls, &unpriced, tokens_in, tokens_out, cache_read, cache_write, &positions];
    table.row(&of.iter().copied().chain(spent.map(String::as_str)).collect::<Vec<_>>());
}
