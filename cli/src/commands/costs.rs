//! `costs`: costs and usage of models and tools.

use std::path::PathBuf;

use bitacora_api::{CostAnswer, CostList};
use bitacora_report::{cost_headings, costs_json, sum_costs};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::commands::tools::usage::groups;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::ServiceUse;
use crate::options::prices::read_prices;
use crate::options::time::PastDay;
use crate::terminal::table::{Cell, TextTable};

#[derive(Debug, Args, Serialize)]
pub(crate) struct CostsArguments {
    /// Group by these; separate several with commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Model])]
    #[serde(skip)]
    by: Vec<By>,
    /// Only from the UTC day of this time on: 7d, yesterday, 2026-11-20.
    #[arg(long, value_name = "TIME")]
    since: Option<PastDay>,
    /// Only before this day.
    #[arg(long, value_name = "TIME")]
    before: Option<PastDay>,
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
    /// Prices for answers without a cost, a JSON list, in US dollars a million tokens: texts in `{"model", "in",
    /// "out", "cache_read", "cache_write"}`; the first matching model applies; a model may end in `*`; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    prices: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
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

pub(crate) fn run(arguments: &CostsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let prices = arguments.prices.as_deref().map(read_prices).transpose()?;
    let (parts, names) = groups(&arguments.by);
    // A price is a model's.
    let model_too = (prices.is_some() && !parts.contains(&By::Model)).then_some("model");
    let by: Vec<&str> = names.iter().map(String::as_str).chain(model_too).collect();
    let path = with_query(&with_query("costs", arguments), &json!({"by": by.join(",")}));
    let answer = context.asking(ServiceUse::ReadModels).get(&path)?;
    if context.is_json() && prices.is_none() {
        return context.raw(&answer);
    }
    let list: CostList = answer.read()?;
    let of = |cost: &CostAnswer| parts.iter().map(|by| by.of(cost).to_owned()).collect();
    let (sums, total) = sum_costs(&list, of, prices.as_ref());
    if context.is_json() {
        return context.print(&costs_json(&names, &sums, &total));
    }
    let headings = names.iter().map(String::as_str).chain(cost_headings(prices.is_some()));
    let mut table = TextTable::new(&headings.collect::<Vec<_>>());
    for sum in &sums {
        let of = sum.of.iter().map(Cell::from);
        table.add(of.chain(sum.spending.cells().into_iter().map(Cell::id)).collect());
    }
    if sums.len() > 1 {
        table.add_total(names.len(), total.cells().into_iter().map(Cell::id));
    }
    let none = match list.outside {
        Some(outside) => format!("nothing was spent on these days; counted on other days: {outside}"),
        None => "nothing was spent".to_owned(),
    };
    table.write(&none, &mut context.output)?;
    if prices.is_none() && total.is_untold() {
        context.say("no cost was told of these; --prices FILE estimates it from the tokens")?;
    }
    Ok(Exit::Done)
}
