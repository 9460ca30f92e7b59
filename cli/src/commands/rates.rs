//! `rates`: rate limits of calls, and what is left of them.

use bitacora_api::{RateList, RateRequest, RateScopeAnswer};
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::pages::{each_page, pages_to_show};
use crate::ledger_access::service::{ServiceClient, ServiceFailure, with_query, with_service};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::{TextTable, to_the_second};
use bitacora_import::JsonObject;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RatesArguments {
    #[command(subcommand)]
    command: Option<RatesCommand>,
}

#[derive(Debug, Subcommand)]
enum RatesCommand {
    /// List the limits, and what is left where calls used some (default).
    List {
        /// Only limits of tools, of agents or of roles.
        #[arg(long, value_enum)]
        by: Option<By>,
        /// Only limits of this name.
        #[arg(long, value_name = "NAME", requires = "by")]
        name: Option<String>,
    },
    /// Set a limit; its buckets are full again.
    Set {
        #[command(flatten)]
        scope: RateScope,
        #[command(flatten)]
        how: How,
    },
    /// Remove a limit.
    Clear {
        #[command(flatten)]
        scope: RateScope,
    },
}

/// The scope of a limit: calls that are counted together.
#[derive(Debug, Args)]
struct RateScope {
    /// The key that calls are counted by: a tool, an agent or a role.
    #[arg(long, value_enum)]
    by: By,
    /// The tool, agent or role. [default: each one by itself that has no limit of its own]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// The limits of calls. A limit that is left out does not apply.
#[derive(Debug, Args)]
struct How {
    /// The bucket's size: the most calls at once.
    #[arg(long, value_name = "CALLS", requires = "refill", required_unless_present_any = ["within", "a_day", "apart_s"])]
    burst: Option<u32>,
    /// The calls that refill the bucket in a period.
    #[arg(long, value_name = "CALLS", requires = "burst")]
    refill: Option<u32>,
    /// The refill period, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    period_ms: u64,
    /// The most calls in the last so many seconds: `2/3600`; repeatable up to four times.
    #[arg(long, value_name = "CALLS/SECONDS")]
    within: Vec<WindowLimit>,
    /// The most calls of one day.
    #[arg(long, value_name = "CALLS")]
    a_day: Option<u32>,
    /// The time zone of that day: `Europe/Madrid`. [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "a_day")]
    zone: Option<String>,
    /// The fewest seconds between two calls.
    #[arg(long, value_name = "SECONDS")]
    apart_s: Option<u32>,
}

/// A limit of calls in a sliding window of seconds.
#[derive(Debug, Clone, Copy)]
struct WindowLimit {
    calls: u32,
    period_s: u32,
}

impl FromStr for WindowLimit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once('/').and_then(|(calls, period_s)| {
            Some(Self { calls: calls.parse().ok()?, period_s: period_s.parse().ok()? })
        });
        parsed.ok_or("write it as calls and seconds, such as 2/3600")
    }
}

impl How {
    fn limit(&self) -> Option<String> {
        let (burst, refill) = self.burst.zip(self.refill)?;
        let limit = JsonObject::new().raw("burst", burst).raw("refill", refill);
        Some(limit.raw("period_ms", self.period_ms).end())
    }

    fn rolling(&self) -> Option<String> {
        let window = |within: &WindowLimit| {
            JsonObject::new().raw("calls", within.calls).raw("period_s", within.period_s).end()
        };
        let windows: Vec<_> = self.within.iter().map(window).collect();
        let windows = (!windows.is_empty()).then(|| format!("[{}]", windows.join(",")));
        let day = self
            .a_day
            .map(|calls| JsonObject::new().raw("calls", calls).maybe("zone", self.zone.as_deref()).end());
        let is_any = windows.is_some() || day.is_some() || self.apart_s.is_some();
        let rolling = JsonObject::new().maybe_raw("windows", windows).maybe_raw("day", day);
        is_any.then(|| rolling.maybe_raw("apart_s", self.apart_s).end())
    }
}

/// The key that calls are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// The call's tool.
    Tool,
    /// The call's agent.
    Agent,
    /// The caller's role.
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
    let (scope, limit, rolling) = match arguments.command.as_ref() {
        None => {
            list(None, None, global, output)?;
            return Ok(Exit::Done);
        }
        Some(RatesCommand::List { by, name }) => {
            list(*by, name.as_deref(), global, output)?;
            return Ok(Exit::Done);
        }
        Some(RatesCommand::Set { scope, how }) => (scope, how.limit(), how.rolling()),
        Some(RatesCommand::Clear { scope }) => (scope, None, None),
    };
    let named = JsonObject::new().text("by", scope.by.name()).maybe("name", scope.name.as_deref());
    let body = JsonObject::new().raw("scope", named.end()).maybe_raw("limit", limit);
    let body = body.maybe_raw("rolling", rolling).end();
    with_service(global, |service| {
        if matches!(arguments.command, Some(RatesCommand::Clear { .. })) && !is_set(scope, service)? {
            let why = "there is no such limit, `bitacora rates` shows those there are; nothing was recorded";
            return Err(ServiceFailure::NotThere(why.to_owned()).into());
        }
        service.put("rates", body)?.write_act(global, output)
    })?;
    Ok(Exit::Done)
}

/// Returns `true` if exactly this limit is set.
fn is_set(scope: &RateScope, service: &mut ServiceClient) -> Result<bool, CommandError> {
    let path = with_query("rates", &[("by", Some(scope.by.name())), ("name", scope.name.as_deref())]);
    let mut is_set = false;
    each_page(service, &path, |_, page: RateList| {
        let is_it = |limited: &RateRequest| limited.limit.is_some() && limited.scope.name == scope.name;
        is_set |= page.limits.iter().any(is_it);
        is_set |= page.rolling.iter().any(|rolling| rolling.scope.name == scope.name);
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
        let mut limits = TextTable::new(&["burst", "refill", "every ms", "calls"]);
        for limited in pages.iter().flat_map(|page| &page.limits) {
            if let Some(limit) = &limited.limit {
                let [burst, refill] = [limit.burst, limit.refill].map(|calls| calls.to_string());
                limits.row(&[&burst, &refill, &limit.period_ms.to_string(), &scope_words(&limited.scope)]);
            }
        }
        let mut rolling = pages.iter().flat_map(|page| &page.rolling).peekable();
        let none = "no limit is set: calls are taken as they come";
        if rolling.peek().is_none() || !limits.is_empty() {
            limits.write(none, output)?;
        }
        for one in rolling {
            output.line(format!("calls {}: {}", scope_words(&one.scope), one.rolling))?;
        }
        let mut buckets = pages.iter().flat_map(|page| &page.buckets).peekable();
        if buckets.peek().is_none() {
            return Ok(());
        }
        output.line("")?;
        let mut table = TextTable::new(&["left", "of", "the next after ms", "full at", "calls"]);
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

/// Formats a scope: `of agent ci`, `of each tool`.
fn scope_words(scope: &RateScopeAnswer) -> String {
    match &scope.name {
        Some(name) => format!("of {} {name}", scope.by),
        None => format!("of each {}", scope.by),
    }
}
