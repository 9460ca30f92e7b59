//! `rates`: how many calls are taken in a time, and what is left of that.

use bitacora_server::answers::{RateList, RateRequest, RateScopeAnswer};
use clap::{Args, Subcommand, ValueEnum};

use crate::arguments::Global;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json_text::JsonObject;
use crate::output::Output;
use crate::pages::{each_page, pages_to_show};
use crate::service::{Service, ServiceFailure, with_query, with_service};
use crate::table::{Table, to_the_second};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RatesArguments {
    #[command(subcommand)]
    command: Option<RatesCommand>,
}

#[derive(Debug, Subcommand)]
enum RatesCommand {
    /// Show the limits, and what is left where calls took some. This is what happens without a command.
    List {
        /// Only those of tools, of agents or of roles.
        #[arg(long, value_enum)]
        by: Option<By>,
        /// Only those of this one.
        #[arg(long, value_name = "NAME", requires = "by")]
        name: Option<String>,
    },
    /// Set a limit. Its buckets are full again.
    Set {
        #[command(flatten)]
        scope: Scope,
        /// Calls that are taken at once, at most.
        #[arg(long, value_name = "CALLS")]
        burst: u32,
        /// Calls that come back in a period.
        #[arg(long, value_name = "CALLS")]
        refill: u32,
        /// The period, in milliseconds.
        #[arg(long, value_name = "MS", default_value_t = 60_000)]
        period_ms: u64,
    },
    /// Take a limit away.
    Clear {
        #[command(flatten)]
        scope: Scope,
    },
}

/// Whose calls are counted together.
#[derive(Debug, Args)]
struct Scope {
    /// Those of a tool, of an agent, or in a role.
    #[arg(long, value_enum)]
    by: By,
    /// Which one. Without it: each by itself that has no limit of its own.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// By what calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// By their tool.
    Tool,
    /// By their agent.
    Agent,
    /// By their caller's role.
    Role,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Role => "role",
        }
    }
}

pub(crate) fn run(
    arguments: &RatesArguments,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let (scope, limit) = match arguments.command.as_ref() {
        None => {
            list(None, None, global, output)?;
            return Ok(Exit::Done);
        }
        Some(RatesCommand::List { by, name }) => {
            list(*by, name.as_deref(), global, output)?;
            return Ok(Exit::Done);
        }
        Some(RatesCommand::Set { scope, burst, refill, period_ms }) => {
            let limit = JsonObject::new().raw("burst", burst).raw("refill", refill);
            (scope, Some(limit.raw("period_ms", period_ms).end()))
        }
        Some(RatesCommand::Clear { scope }) => (scope, None),
    };
    let named = JsonObject::new().text("by", scope.by.name()).maybe("name", scope.name.as_deref());
    let body = JsonObject::new().raw("scope", named.end()).maybe_raw("limit", limit).end();
    with_service(global, |service| {
        if matches!(arguments.command, Some(RatesCommand::Clear { .. })) && !is_set(scope, service)? {
            let why = "there is no such limit, `bitacora rates` shows those there are; nothing was recorded";
            return Err(ServiceFailure::NotThere(why.to_owned()).into());
        }
        service.put("rates", body)?.write_act(global, output)
    })?;
    Ok(Exit::Done)
}

/// Whether this very limit is set.
fn is_set(scope: &Scope, service: &mut Service) -> Result<bool, CommandError> {
    let path = with_query("rates", &[("by", Some(scope.by.name())), ("name", scope.name.as_deref())]);
    let mut is_set = false;
    each_page(service, &path, |_, page: RateList| {
        let is_it = |limited: &RateRequest| limited.limit.is_some() && limited.scope.name == scope.name;
        is_set |= page.limits.iter().any(is_it);
        Ok(())
    })?;
    Ok(is_set)
}

fn list(
    by: Option<By>,
    name: Option<&str>,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let path = with_query("rates", &[("by", by.map(By::name)), ("name", name)]);
    with_service(global, |service| {
        let Some(pages) = pages_to_show::<RateList>(service, &path, global, output)? else { return Ok(()) };
        let mut limits = Table::new(&["burst", "refill", "every ms", "calls"]);
        for limited in pages.iter().flat_map(|page| &page.limits) {
            if let Some(limit) = &limited.limit {
                let [burst, refill] = [limit.burst, limit.refill].map(|calls| calls.to_string());
                limits.row(&[&burst, &refill, &limit.period_ms.to_string(), &scope_words(&limited.scope)]);
            }
        }
        limits.write("no limit is set: calls are taken as they come", output)?;
        let mut buckets = pages.iter().flat_map(|page| &page.buckets).peekable();
        if buckets.peek().is_none() {
            return Ok(());
        }
        output.line("")?;
        let mut table = Table::new(&["left", "of", "the next after ms", "full at", "calls"]);
        for bucket in buckets {
            table.row(&[
                &bucket.left.to_string(),
                &bucket.burst.to_string(),
                &bucket.retry_after_ms.map_or("-".to_owned(), |wait| wait.to_string()),
                &bucket.full_at.as_deref().map_or("-".to_owned(), to_the_second),
                &scope_words(&bucket.scope),
            ]);
        }
        Ok(table.write("", output)?)
    })
}

/// In words: `of agent ci`, `of each tool`.
fn scope_words(scope: &RateScopeAnswer) -> String {
    match &scope.name {
        Some(name) => format!("of {} {name}", scope.by),
        None => format!("of each {}", scope.by),
    }
}
