//! `budgets`: spending limits by scope and period, and what is left of them.

use std::collections::BTreeSet;

use bitacora_api::{BudgetAnswer, BudgetList, BudgetScopeAnswer, BudgetSetAnswer, SpendAnswer};
use clap::{Args, Subcommand, ValueEnum};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::merge_pages::MergedPages;
use crate::ledger_access::pages::{ListPage as _, each_page, pages_to_show};
use crate::ledger_access::service::{ServiceClient, ServiceFailure, with_query, with_service};
use crate::options::global::Global;
use crate::terminal::output::{Output, printable};
use crate::terminal::table::{TextTable, to_the_second, write_fields};
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BudgetsArguments {
    #[command(subcommand)]
    command: Option<BudgetsCommand>,
}

#[derive(Debug, Subcommand)]
enum BudgetsCommand {
    /// List the budgets and what is left of them (default); with a scope, those that count its calls.
    List {
        #[command(flatten)]
        of: BudgetScope,
    },
    /// Show one budget, for each run or session that has its own.
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
        /// The counter: one for each agent, or one for all. [default: together where an agent or a workspace is named, else each-agent]
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
#[derive(Debug, Default, Args)]
struct BudgetScope {
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
struct Limits {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Period {
    Run,
    Session,
    Day,
    SevenDays,
    ThirtyDays,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnExceed {
    Pause,
    Deny,
    Abort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BudgetCounting {
    EachAgent,
    Together,
}

impl BudgetCounting {
    fn name(self) -> &'static str {
        match self {
            Self::EachAgent => "each_agent",
            Self::Together => "together",
        }
    }
}

impl Period {
    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Day => "day",
            Self::SevenDays => "seven_days",
            Self::ThirtyDays => "thirty_days",
        }
    }
}

impl OnExceed {
    fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Deny => "deny",
            Self::Abort => "abort",
        }
    }
}

impl BudgetScope {
    fn json(&self) -> String {
        JsonObject::new()
            .maybe("agent", self.agent.as_deref())
            .maybe("role", self.role.as_deref())
            .maybe("tool", self.tool.as_deref())
            .maybe("model", self.model.as_deref())
            .maybe("task_type", self.task_type.as_deref())
            .maybe("session", self.session.as_deref())
            .maybe("run", self.run.as_deref())
            .maybe("workspace", self.workspace.as_deref())
            .end()
    }
}

impl Limits {
    fn json(&self) -> String {
        JsonObject::new()
            .maybe("costUsd", self.cost_usd.as_deref())
            .maybe_raw("tokens", self.tokens)
            .maybe_raw("calls", self.calls)
            .maybe_raw("steps", self.steps)
            .maybe_raw("durationMs", self.duration_ms)
            .end()
    }
}

pub(crate) fn run(
    arguments: &BudgetsArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    match arguments.command.as_ref() {
        None => list(&BudgetScope::default(), global, output)?,
        Some(BudgetsCommand::List { of }) => list(of, global, output)?,
        Some(BudgetsCommand::Show { budget }) => {
            show(budget, global, output)?;
            return Ok(Exit::Done);
        }
        Some(BudgetsCommand::Set { budget, of, limits, period, on_exceed, counted }) => {
            let body = JsonObject::new()
                .text("budget", budget)
                .raw("scope", of.json())
                .raw("limits", limits.json())
                .text("period", period.name())
                .text("onExceed", on_exceed.name())
                .maybe("counted", counted.map(BudgetCounting::name));
            put(body.end(), global, output)?;
        }
        Some(BudgetsCommand::Clear { budget }) => {
            put(JsonObject::new().text("budget", budget).end(), global, output)?;
        }
    }
    Ok(Exit::Done)
}

fn put(body: String, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_service(global, |service| {
        let answer = service.put("budgets", body)?;
        answer.write_act(global, output)?;
        let set: BudgetSetAnswer = answer.read()?;
        if set.begun_anew && !global.json {
            output.line("it begins anew: what was spent of it before counts no more")?;
        }
        if set.exhausted && !global.json {
            output.line("nothing is left of it: the next call meets the limit")?;
        }
        Ok(())
    })
}

fn list(of: &BudgetScope, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    let parameters = [
        ("agent", of.agent.as_deref()),
        ("role", of.role.as_deref()),
        ("tool", of.tool.as_deref()),
        ("model", of.model.as_deref()),
        ("task", of.task_type.as_deref()),
        ("session", of.session.as_deref()),
        ("run", of.run.as_deref()),
        ("workspace", of.workspace.as_deref()),
    ];
    with_service(global, |service| {
        let path = with_query("budgets", &parameters);
        let Some(pages) = pages_to_show::<BudgetList>(service, &path, global, output)? else { return Ok(()) };
        let mut table = TextTable::new(&["budget", "left", "of", "in", "resets", "then", "of what"]);
        for one in pages.iter().flat_map(|page| &page.budgets) {
            table.row(&[
                &one.budget,
                &spend_words(&one.left),
                &spend_words(&one.limits),
                &window_words(one),
                &one.resets_at.as_deref().map_or("-".to_owned(), to_the_second),
                &one.on_exceed,
                &scope_words(&one.scope),
            ]);
        }
        let is_filtered = parameters.iter().any(|(_, value)| value.is_some());
        let found = pages.iter().any(|page| !page.budgets.is_empty());
        let set = if is_filtered && !found { how_many(service)? } else { 0 };
        let empty = match set {
            0 => "no budget is set: calls may spend what they like".to_owned(),
            1 => "none that this call counts in; 1 is set".to_owned(),
            set => format!("none that this call counts in; {set} are set"),
        };
        Ok(table.write(&empty, output)?)
    })
}

/// Counts the budgets of all scopes.
fn how_many(service: &mut ServiceClient) -> Result<usize, CommandError> {
    let mut names = BTreeSet::new();
    each_page(service, "budgets", |_, page: BudgetList| {
        names.extend(page.budgets.into_iter().map(|one| one.budget));
        Ok(())
    })?;
    Ok(names.len())
}

fn show(budget: &str, global: &Global, output: &mut Output) -> Result<(), CommandError> {
    with_service(global, |service| {
        let path = with_query("budgets", &[("budget", Some(budget))]);
        let (mut joined, mut found) = (MergedPages::new(BudgetList::LISTS), Vec::new());
        each_page(service, &path, |text, page: BudgetList| {
            joined.take(text)?;
            found.extend(page.budgets);
            Ok(())
        })?;
        if found.is_empty() {
            let why = format!(
                "no budget is called {}; `bitacora budgets` shows those there are",
                printable(budget)
            );
            return Err(ServiceFailure::NotThere(why).into());
        }
        if global.json {
            return Ok(output.json_text(&joined.to_json())?);
        }
        found.iter().try_for_each(|one| write_one(one, output))
    })
}

fn write_one(one: &BudgetAnswer, output: &mut Output) -> Result<(), CommandError> {
    let resets = one.resets_at.as_deref().map(to_the_second);
    let [limits, spent, reserved, left] =
        [&one.limits, &one.spent, &one.reserved, &one.left].map(spend_words);
    write_fields(
        &[
            ("budget", Some(&one.budget)),
            ("of what", Some(&scope_words(&one.scope))),
            ("in", Some(&one.period)),
            ("of", one.window.as_deref()),
            ("counted", Some(&one.counted.replace('_', " "))),
            ("agent", one.agent.as_deref()),
            ("limits", Some(&limits)),
            ("spent", Some(&spent)),
            ("reserved", Some(&reserved)),
            ("left", Some(&left)),
            ("resets", resets.as_deref()),
            ("then", Some(&one.on_exceed)),
        ],
        output,
    )?;
    Ok(())
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

/// Formats a scope: `agent ci, tool fs.write`.
fn scope_words(scope: &BudgetScopeAnswer) -> String {
    let parts = [
        ("agent", &scope.agent),
        ("role", &scope.role),
        ("tool", &scope.tool),
        ("model", &scope.model),
        ("task", &scope.task_type),
        ("session", &scope.session),
        ("run", &scope.run),
        ("workspace", &scope.workspace),
    ];
    let named = parts.into_iter().filter_map(|(part, name)| Some(format!("{part} {}", name.as_deref()?)));
    let words: Vec<_> = named.collect();
    if words.is_empty() { "everything".to_owned() } else { words.join(", ") }
}
