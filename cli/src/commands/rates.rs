//! `rates`: rate limits of calls, and what is left of them.

use std::str::FromStr;

use bitacora_api::{RateBucketAnswer, RateLimitAnswer, RateList, RateRequest, RateScopeAnswer};
use clap::{Args, Subcommand, ValueEnum};
use hyper::Method;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::pages::each_page;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::ServiceFailure;
use crate::options::optional_command::OptionalCommand;
use crate::options::words::word;
use crate::rows::{Row, RowTable};
use crate::terminal::table::{Cell, TextTable, cells};

pub(crate) type RatesArguments = OptionalCommand<RatesCommand>;

#[derive(Debug, Subcommand)]
pub(crate) enum RatesCommand {
    /// List the limits, and what is left of used ones (default).
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
pub(crate) struct RateScope {
    /// The key that calls are counted by: a tool, an agent or a role.
    #[arg(long, value_enum)]
    by: By,
    /// The tool, agent or role. [default: each one without a limit of its own]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// The limits of calls. A limit that is left out does not apply.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// The bucket's size: the largest number of calls at once.
    #[arg(long, value_name = "CALLS", requires = "refill", required_unless_present_any = ["within", "a_day", "apart_s"])]
    burst: Option<u32>,
    /// The number of calls refilled in each period.
    #[arg(long, value_name = "CALLS", requires = "burst")]
    refill: Option<u32>,
    /// The refill period, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    period_ms: u64,
    /// The largest number of calls within a time: `2/3600`; repeatable up to four times.
    #[arg(long, value_name = "CALLS/SECONDS")]
    within: Vec<WindowLimit>,
    /// The largest number of calls in a day.
    #[arg(long, value_name = "CALLS")]
    a_day: Option<u32>,
    /// The time zone of that day: `Europe/Madrid`. [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "a_day")]
    zone: Option<String>,
    /// The shortest time between two calls, in seconds.
    #[arg(long, value_name = "SECONDS")]
    apart_s: Option<u32>,
}

/// A limit of calls in a sliding window of seconds.
#[derive(Debug, Clone, Copy, Serialize)]
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
    fn limit(&self) -> Option<RateLimitAnswer> {
        let (burst, refill) = self.burst.zip(self.refill)?;
        Some(RateLimitAnswer { burst, refill, period_ms: self.period_ms })
    }

    fn rolling(&self) -> Option<Value> {
        let mut rolling = Map::new();
        if !self.within.is_empty() {
            rolling.insert("windows".to_owned(), json!(self.within));
        }
        if let Some(calls) = self.a_day {
            let day = match &self.zone {
                Some(zone) => json!({"calls": calls, "zone": zone}),
                None => json!({"calls": calls}),
            };
            rolling.insert("day".to_owned(), day);
        }
        if let Some(seconds) = self.apart_s {
            rolling.insert("apart_s".to_owned(), seconds.into());
        }
        (!rolling.is_empty()).then(|| rolling.into())
    }
}

/// The key that calls are counted by.
#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// The call's tool.
    Tool,
    /// The call's agent.
    Agent,
    /// The caller's role.
    Role,
}

impl From<RateScope> for RateScopeAnswer {
    fn from(scope: RateScope) -> Self {
        Self { by: word(scope.by), name: scope.name }
    }
}

pub(crate) fn run(arguments: RatesArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let request = match arguments.command.unwrap_or(RatesCommand::List { by: None, name: None }) {
        RatesCommand::List { by, name } => return list(&json!({"by": by, "name": name}), context),
        RatesCommand::Set { scope, how } => {
            RateRequest { scope: scope.into(), limit: how.limit(), rolling: how.rolling() }
        }
        RatesCommand::Clear { scope } => {
            let scope = RateScopeAnswer::from(scope);
            if !is_set(&scope, context)? {
                let why =
                    "there is no such limit, `bitacora rates` shows those there are; nothing was recorded";
                return Err(ServiceFailure::NotThere(why.to_owned()).into());
            }
            RateRequest { scope, limit: None, rolling: None }
        }
    };
    context.act(&Method::PUT, "rates", Some(&request))
}

/// Returns `true` if exactly this limit is set.
fn is_set(scope: &RateScopeAnswer, context: &mut CommandContext) -> Result<bool, CommandError> {
    let mut is_set = false;
    each_page(context.service()?, &with_query("rates", scope), |_, page: RateList| {
        let is_it = |limited: &RateRequest| limited.limit.is_some() && limited.scope.name == scope.name;
        is_set |= page.limits.iter().any(is_it);
        is_set |= page.rolling.iter().any(|rolling| rolling.scope.name == scope.name);
        Ok(())
    })?;
    Ok(is_set)
}

fn list(query: &Value, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let Some(pages) = context.pages::<RateList>(&with_query("rates", query))? else { return Ok(Exit::Done) };
    let output = &mut context.output;
    let limits = pages.iter().flat_map(|page| &page.limits).filter(|limited| limited.limit.is_some());
    let limits = TextTable::of(limits);
    let mut rolling = pages.iter().flat_map(|page| &page.rolling).peekable();
    if rolling.peek().is_none() || !limits.is_empty() {
        limits.write("no limit is set: calls are taken as they come", output)?;
    }
    for one in rolling {
        output.line(format!("calls {}: {}", of(&one.scope), one.rolling))?;
    }
    let buckets = TextTable::of(pages.iter().flat_map(|page| &page.buckets));
    if !buckets.is_empty() {
        output.line("")?;
        buckets.write("", output)?;
    }
    Ok(Exit::Done)
}

impl Row for RateRequest {
    const HEADINGS: &'static [&'static str] = &["burst", "refill", "every ms", "calls"];

    fn cells(&self) -> Vec<Cell> {
        let limit = self.limit.as_ref();
        let [burst, refill] = [limit.map(|limit| limit.burst), limit.map(|limit| limit.refill)];
        cells![burst, refill, limit.map(|limit| limit.period_ms), of(&self.scope)]
    }
}

impl Row for RateBucketAnswer {
    const HEADINGS: &'static [&'static str] = &["left", "of", "the next after ms", "full at", "calls"];

    fn cells(&self) -> Vec<Cell> {
        let full_at = Cell::maybe_time(self.full_at.as_ref());
        cells![self.left, self.burst, self.retry_after_ms, full_at, of(&self.scope)]
    }
}

fn of(scope: &RateScopeAnswer) -> String {
    format!("of {scope}")
}
