//! `tools usage`: the calls of tools in numbers: decisions, outcomes and durations.

use bitacora_api::{ToolCountsAnswer, ToolUsageAnswer, ToolUsageList};
use clap::{Args, ValueEnum};

use crate::error::CommandError;
use crate::ledger_access::service::{with_query, with_read_models};
use crate::options::global::Global;
use crate::terminal::output::Output;
use crate::terminal::table::TextTable;

#[derive(Debug, Args)]
pub(super) struct UsageArguments {
    /// The grouping; several with commas between.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Tool])]
    by: Vec<By>,
    /// Only from this day on, UTC.
    #[arg(long, value_name = "YYYY-MM-DD")]
    since: Option<String>,
    /// Only before this day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    before: Option<String>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Tool,
    Context,
    Role,
    Agent,
    Day,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Context => "context",
            Self::Role => "role",
            Self::Agent => "agent",
            Self::Day => "day",
        }
    }

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

pub(super) fn list(
    arguments: &UsageArguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut parts: Vec<By> = Vec::new();
    for by in &arguments.by {
        if !parts.contains(by) {
            parts.push(*by);
        }
    }
    let names: Vec<&str> = parts.iter().map(|by| by.name()).collect();
    let by = names.join(",");
    let UsageArguments { since, before, tool, context, role, agent, .. } = arguments;
    let path = with_query(
        "tool-usage",
        &[
            ("by", Some(by.as_str())),
            ("since", since.as_deref()),
            ("before", before.as_deref()),
            ("tool", tool.as_deref()),
            ("context", context.as_deref()),
            ("role", role.as_deref()),
            ("agent", agent.as_deref()),
        ],
    );
    with_read_models(global, |service| {
        let answer = service.get(&path)?;
        if global.json {
            return Ok(output.json_text(answer.text())?);
        }
        let list: ToolUsageList = answer.read()?;
        let heading = ["calls", "review", "deny", "ok", "failed", "not run", "p50 ms", "p95 ms"];
        let mut table = TextTable::new(&[&names[..], &heading].concat());
        for sum in &list.usage {
            let cells = parts.iter().map(|by| by.of(sum).to_owned()).chain(cells(&sum.counts));
            write_row(&mut table, &cells.collect::<Vec<_>>());
        }
        if list.usage.len() > 1 {
            let all =
                std::iter::once("all".to_owned()).chain(vec![String::new(); names.len().saturating_sub(1)]);
            write_row(&mut table, &all.chain(cells(&list.total)).collect::<Vec<_>>());
        }
        let none = match list.outside {
            Some(outside) => format!("no tool was called on these days; calls on other days: {outside}"),
            None => "no such call is recorded".to_owned(),
        };
        Ok(table.write(&none, output)?)
    })
}

fn write_row(table: &mut TextTable, cells: &[String]) {
    table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
}

fn cells(counts: &ToolCountsAnswer) -> [String; 8] {
    let percent = |rate: f64| format!("{:.1} %", rate * 100.0);
    let ms = |ms: Option<u64>| ms.map_or_else(|| "-".to_owned(), |ms| ms.to_string());
    [
        counts.calls.to_string(),
        percent(counts.review_rate),
        percent(counts.deny_rate),
        counts.ok.to_string(),
        (counts.error + counts.timeout + counts.interrupted).to_string(),
        (counts.rejected + counts.blocked).to_string(),
        ms(counts.p50_ms),
        ms(counts.p95_ms),
    ]
}
