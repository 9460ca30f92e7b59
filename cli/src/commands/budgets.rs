//! `budgets`: spending limits by scope and period, and what is left of them.

use std::collections::BTreeSet;

use bitacora_api::{
    BudgetAnswer, BudgetList, BudgetRequest, BudgetScopeAnswer, BudgetSetAnswer, SpendAnswer,
};
use clap::{Args, Subcommand, ValueEnum};
use hyper::Method;
use serde::Serialize;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::ServiceFailure;
use crate::options::optional_command::OptionalCommand;
use crate::options::words::word;
use crate::rows::{Row, RowTable};
use crate::terminal::output::{Output, OutputError, printable};
use crate::terminal::table::{Cell, FieldLines, TextTable, cells};

pub(crate) type BudgetsArguments = OptionalCommand<BudgetsCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetsCommand {
    /// List the budgets and what is left (default); with a scope, only those that count its calls.
    List {
        #[command(flatten)]
        of: BudgetScope,
    },
    /// Show one budget, separately for each run or session that has its own.
    Show {
        /// The budget's name.
        budget: String,
    },
    /// Set a budget; another scope or period resets it.
    Set {
        /// The budget's name.
        budget: String,
        #[command(flatten)]
        of: BudgetScope,
        #[command(flatten)]
        limits: Limits,
        /// The period; days are those of UTC, today included.
        #[arg(long, value_enum)]
        period: Period,
        /// The effect when it is spent: calls wait for a person, or are denied.
        #[arg(long, value_enum)]
        on_exceed: OnExceed,
        /// The counter: one for each agent, or one for all. [default: together if an agent or a workspace is named, else each-agent]
        #[arg(long, value_enum)]
        counted: Option<BudgetCounting>,
    },
    /// Remove a budget.
    Clear {
        /// The budget's name.
        budget: String,
    },
}

/// The scope of a budget: spending that matches all of these.
#[derive(Debug, Default, Args, Serialize)]
pub(crate) struct BudgetScope {
    /// The agent.
    #[arg(long)]
    agent: Option<String>,
    /// The role of the caller.
    #[arg(long)]
    role: Option<String>,
    /// The tool.
    #[arg(long)]
    tool: Option<String>,
    /// The model.
    #[arg(long)]
    model: Option<String>,
    /// The task type.
    #[arg(long = "task")]
    #[serde(rename = "task")]
    task_type: Option<String>,
    /// The session.
    #[arg(long)]
    session: Option<String>,
    /// The run.
    #[arg(long)]
    run: Option<String>,
    /// The workspace, as decisions show it.
    #[arg(long)]
    workspace: Option<String>,
}

/// The limits of a budget.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Limits {
    /// The cost in US dollars: 0.0023.
    #[arg(long, value_name = "USD")]
    cost_usd: Option<String>,
    /// The tokens of models, read and written, from caches too.
    #[arg(long)]
    tokens: Option<u64>,
    /// The calls of tools.
    #[arg(long)]
    calls: Option<u64>,
    /// The steps of runs.
    #[arg(long)]
    steps: Option<u64>,
    /// The time that calls and answers of models take, in milliseconds.
    #[arg(long, value_name = "MS")]
    duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Period {
    Run,
    Session,
    Day,
    SevenDays,
    ThirtyDays,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnExceed {
    Pause,
    Deny,
    Abort,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BudgetCounting {
    EachAgent,
    Together,
}

impl From<BudgetScope> for BudgetScopeAnswer {
    fn from(scope: BudgetScope) -> Self {
        let BudgetScope { agent, role, tool, model, task_type, session, run, workspace } = scope;
        Self { agent, role, tool, model, task_type, session, run, workspace }
    }
}

impl From<Limits> for SpendAnswer {
    fn from(limits: Limits) -> Self {
        let Limits { cost_usd, tokens, calls, steps, duration_ms } = limits;
        Self { cost_usd, tokens, calls, steps, duration_ms }
    }
}

pub(crate) fn run(arguments: BudgetsArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    match arguments.command {
        None => list(&BudgetScope::default(), context),
        Some(BudgetsCommand::List { of }) => list(&of, context),
        Some(BudgetsCommand::Show { budget }) => show(&budget, context),
        Some(BudgetsCommand::Set { budget, of, limits, period, on_exceed, counted }) => {
            let request = BudgetRequest {
                budget,
                scope: Some(of.into()),
                limits: Some(limits.into()),
                period: Some(word(period)),
                on_exceed: Some(word(on_exceed)),
                counted: counted.map(word),
            };
            put(&request, context)
        }
        Some(BudgetsCommand::Clear { budget }) => {
            let cleared = BudgetRequest {
                budget,
                scope: None,
                limits: None,
                period: None,
                on_exceed: None,
                counted: None,
            };
            put(&cleared, context)
        }
    }
}

fn put(request: &BudgetRequest, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let answer = context.send(&Method::PUT, "budgets", Some(request))?;
    context.receipt(&answer)?;
    let set: BudgetSetAnswer = answer.read()?;
    if set.begun_anew {
        context.say("it begins anew: what was spent of it before counts no more")?;
    }
    if set.exhausted {
        context.say("nothing is left of it: the next call meets the limit")?;
    }
    Ok(Exit::Done)
}

fn list(of: &BudgetScope, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("budgets", of);
    let Some(pages) = context.pages::<BudgetList>(&path)? else { return Ok(Exit::Done) };
    let table = TextTable::of(pages.iter().flat_map(|page| &page.budgets));
    let is_filtered = path != "budgets";
    let set = if is_filtered && table.is_empty() { how_many(context)? } else { 0 };
    let empty = match set {
        0 => "no budget is set: calls may spend what they like".to_owned(),
        1 => "none that this call counts in; 1 is set".to_owned(),
        set => format!("none that this call counts in; {set} are set"),
    };
    table.write(&empty, &mut context.output)?;
    Ok(Exit::Done)
}

/// Counts the budgets of all scopes.
fn how_many(context: &mut CommandContext) -> Result<usize, CommandError> {
    let budgets = context.items::<BudgetList>("budgets")?;
    Ok(budgets.into_iter().map(|one| one.budget).collect::<BTreeSet<_>>().len())
}

fn show(budget: &str, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let path = with_query("budgets", &json!({"budget": budget}));
    let found = context.items::<BudgetList>(&path)?;
    if found.is_empty() {
        let why = format!("no budget is called {budget}; `bitacora budgets` shows those there are");
        return Err(ServiceFailure::NotThere(printable(&why)).into());
    }
    if context.pages::<BudgetList>(&path)?.is_some() {
        found.iter().try_for_each(|one| write_one(one, &mut context.output))?;
    }
    Ok(Exit::Done)
}

fn write_one(one: &BudgetAnswer, output: &mut Output) -> Result<(), OutputError> {
    FieldLines::new()
        .with("budget", &one.budget)
        .with("of what", one.scope.to_string())
        .with("in", &one.period)
        .maybe("of", one.window.as_ref())
        .with("counted", one.counted.replace('_', " "))
        .maybe("agent", one.agent.as_ref())
        .with("limits", spend_words(&one.limits))
        .with("spent", spend_words(&one.spent))
        .with("reserved", spend_words(&one.reserved))
        .with("left", spend_words(&one.left))
        .time("resets", one.resets_at.as_ref())
        .with("then", &one.on_exceed)
        .write(output)
}

impl Row for BudgetAnswer {
    const HEADINGS: &'static [&'static str] = &["budget", "left", "of", "in", "resets", "then", "of what"];

    fn cells(&self) -> Vec<Cell> {
        cells![
            Cell::id(&self.budget),
            Cell::id(spend_words(&self.left)),
            spend_words(&self.limits),
            window_words(self),
            Cell::maybe_time(self.resets_at.as_ref()),
            Cell::id(&self.on_exceed),
            self.scope.to_string(),
        ]
    }
}

/// Names a window: `run r1 of coder`, `day of coder`. A counter for each agent, of which none has spent, is `day of each agent`.
fn window_words(one: &BudgetAnswer) -> String {
    let window = one.window.as_deref().map(|window| format!(" {window}"));
    let of = match one.agent.as_deref() {
        Some(agent) => format!(" of {agent}"),
        None if one.counted == "each_agent" => " of each agent".to_owned(),
        None => String::new(),
    };
    format!("{}{}{of}", one.period, window.unwrap_or_default())
}

/// Formats spending: `5 USD, 40 calls`.
fn spend_words(spend: &SpendAnswer) -> String {
    let number = |number: Option<u64>, unit: &str| number.map(|number| format!("{number} {unit}"));
    let parts = [
        spend.cost_usd.as_deref().map(|usd| format!("{usd} USD")),
        number(spend.tokens, "tokens"),
        number(spend.calls, "calls"),
        number(spend.steps, "steps"),
        number(spend.duration_ms, "ms"),
    ];
    let words: Vec<_> = parts.into_iter().flatten().collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}
