//! `tools usage`: the calls of tools in numbers: decisions, outcomes and durations.

use bitacora_api::{ToolCountsAnswer, ToolUsageAnswer, ToolUsageList};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::ledger_access::context::CommandContext;
use crate::ledger_access::query::with_query;
use crate::ledger_access::service::ServiceUse;
use crate::options::time::PastDay;
use crate::options::words::word;
use crate::terminal::table::{Cell, TextTable, cells};

#[derive(Debug, Args, Serialize)]
pub(crate) struct UsageArguments {
    /// Group by these; separate several with commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Tool])]
    #[serde(skip)]
    by: Vec<By>,
    /// Only from the UTC day of this time on: 7d, yesterday, 2026-11-20.
    #[arg(long, value_name = "TIME")]
    since: Option<PastDay>,
    /// Only before this day.
    #[arg(long, value_name = "TIME")]
    before: Option<PastDay>,
    /// Only calls of this tool.
    #[arg(long)]
    tool: Option<String>,
    /// Only calls in this context.
    #[arg(long)]
    context: Option<String>,
    /// Only calls in this role.
    #[arg(long)]
    role: Option<String>,
    /// Only calls of this agent.
    #[arg(long)]
    agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum By {
    Tool,
    Context,
    Role,
    Agent,
    Day,
}

impl By {
    fn of(self, sum: &ToolUsageAnswer) -> &str {
        let of = match self {
            Self::Tool => &sum.tool,
            Self::Context => &sum.context,
            Self::Role => &sum.role,
            Self::Agent => &sum.agent,
            Self::Day => &sum.day,
        };
        of.as_deref().unwrap_or("-")
    }
}

/// Returns each of the groupings once, with its name.
pub(in crate::commands) fn groups<T: Copy + PartialEq + Serialize>(given: &[T]) -> (Vec<T>, Vec<String>) {
    let mut parts: Vec<T> = Vec::new();
    for part in given {
        if !parts.contains(part) {
            parts.push(*part);
        }
    }
    let names = parts.iter().map(word).collect();
    (parts, names)
}

pub(super) fn list(arguments: &UsageArguments, context: &mut CommandContext) -> Result<Exit, CommandError> {
    let (parts, names) = groups(&arguments.by);
    let path = with_query(&with_query("tool-usage", arguments), &json!({"by": names.join(",")}));
    context.asking(ServiceUse::ReadModels).show(&path, |list: &ToolUsageList, output| {
        let counts = ["calls", "review", "deny", "ok", "failed", "not run", "p50 ms", "p95 ms"];
        let headings: Vec<_> = names.iter().map(String::as_str).chain(counts).collect();
        let mut table = TextTable::new(&headings);
        for sum in &list.usage {
            let of = parts.iter().map(|by| Cell::from(by.of(sum)));
            table.add(of.chain(counted(&sum.counts)).collect());
        }
        if list.usage.len() > 1 {
            table.add_total(names.len(), counted(&list.total));
        }
        let none = match list.outside {
            Some(outside) => format!("no tool was called on these days; calls on other days: {outside}"),
            None => "no such call is recorded".to_owned(),
        };
        table.write(&none, output)
    })
}

fn counted(counts: &ToolCountsAnswer) -> Vec<Cell> {
    let ends = counts.ends;
    let percent = |rate: f64| format!("{:.1} %", rate * 100.0);
    cells![
        counts.calls,
        Cell::id(percent(counts.review_rate)),
        Cell::id(percent(counts.deny_rate)),
        ends.ok,
        ends.error + ends.timeout + ends.interrupted,
        ends.rejected + ends.blocked,
        counts.p50_ms,
        counts.p95_ms,
    ]
}
