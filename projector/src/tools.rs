//! Counts, verdicts, outcomes and durations of tool calls, by tool, context, role, agent and day.
//!
//! One row for each of these that came together, so that any of them can be summed up, and any picked out.

mod fold;
mod minutes;

use std::collections::BTreeMap;

use bitacora_api::{CallEndsAnswer, ToolCountsAnswer, ToolUsageAnswer};
use bitacora_formats::Position;
use serde::{Deserialize, Serialize};

use crate::day::day_text;
use crate::durations::Durations;
use crate::models::{Model as _, ModelError, ReadModels, View};
pub(crate) use fold::ToolsModel;
use fold::{BROUGHT, BROUGHT_ON, CELLS, Cell, IMPORTS};
pub use minutes::{DecisionMinute, DecisionMinuteQuery};

/// Digits behind the point of a rate, as a factor.
const RATE_STEPS: f64 = 10_000.0;

/// The properties that calls are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolsBy {
    /// The tool.
    Tool,
    /// The context that trust was looked up in.
    Context,
    /// The role of the agent that asked.
    Role,
    /// The agent.
    Agent,
    /// The day, UTC.
    Day,
}

/// A query of calls' sums.
#[derive(Debug, Clone, Default)]
pub struct ToolQuery {
    /// The properties that calls are summed up by; with several, each combination is one sum.
    pub by: Vec<ToolsBy>,
    /// Only those from this day on, days since 1970.
    pub since: Option<u64>,
    /// Only those before this day.
    pub before: Option<u64>,
    /// Only those of this tool.
    pub tool: Option<String>,
    /// Only those in this context.
    pub context: Option<String>,
    /// Only those of this role.
    pub role: Option<String>,
    /// Only those of this agent.
    pub agent: Option<String>,
}

/// The counts of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCounts {
    /// Calls of which something was said, or that ended, each once however often it was asked for.
    pub calls: u64,
    /// Those of which `allow` was said last.
    pub allowed: u64,
    /// Those that were put before a person, whatever came of that.
    pub reviewed: u64,
    /// Those that were denied at least once.
    pub denied: u64,
    /// Those that went well.
    pub ok: u64,
    /// Those that failed.
    pub errors: u64,
    /// Those that took too long.
    pub timeouts: u64,
    /// Those that were broken off.
    pub interrupted: u64,
    /// Those that a person kept from being made.
    pub rejected: u64,
    /// Those that a rule or a program kept from being made, as their ends say.
    pub blocked: u64,
}

/// Calls, summed up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSum {
    /// The counts of these calls.
    pub counts: ToolCounts,
    /// The durations of the calls that told one.
    pub took: Durations,
}

impl From<&ToolSum> for ToolCountsAnswer {
    fn from(sum: &ToolSum) -> Self {
        let (counts, took) = (sum.counts, &sum.took);
        Self {
            calls: counts.calls,
            allowed: counts.allowed,
            reviewed: counts.reviewed,
            denied: counts.denied,
            review_rate: rate(counts.reviewed, counts.calls),
            deny_rate: rate(counts.denied, counts.calls),
            ends: CallEndsAnswer {
                ok: counts.ok,
                error: counts.errors,
                timeout: counts.timeouts,
                interrupted: counts.interrupted,
                rejected: counts.rejected,
                blocked: counts.blocked,
            },
            timed: took.total(),
            p50_ms: took.percentile(50),
            p95_ms: took.percentile(95),
        }
    }
}

/// A share of calls to four digits; 0 of none.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more digits than a float has")]
fn rate(some: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (some as f64 / all as f64 * RATE_STEPS).round() / RATE_STEPS }
}

/// One sum with its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUsage {
    /// The properties of the sum, in the order that was asked for; days since 1970 as a number.
    pub of: Vec<(ToolsBy, String)>,
    /// The sum.
    pub sum: ToolSum,
}

impl From<ToolUsage> for ToolUsageAnswer {
    fn from(usage: ToolUsage) -> Self {
        let counts = (&usage.sum).into();
        let mut answer = Self { tool: None, context: None, role: None, agent: None, day: None, counts };
        for (by, of) in usage.of {
            match by {
                ToolsBy::Tool => answer.tool = Some(of),
                ToolsBy::Context => answer.context = Some(of),
                ToolsBy::Role => answer.role = Some(of),
                ToolsBy::Agent => answer.agent = Some(of),
                ToolsBy::Day => answer.day = Some(day_text(&of)),
            }
        }
        answer
    }
}

/// All sums that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The sums, sorted by their properties.
    pub sums: Vec<ToolUsage>,
    /// All together.
    pub total: ToolSum,
    /// The number of calls on other days, if there are none in the days asked about.
    pub outside: Option<u64>,
    /// Every event up to here is in them.
    pub position: Position,
}

impl ToolCounts {
    fn add(&mut self, other: &Self) {
        self.each(other, u64::saturating_add);
    }

    fn each(&mut self, other: &Self, join: impl Fn(u64, u64) -> u64) {
        let Self { calls, allowed, reviewed, denied, ok, errors, timeouts, interrupted, rejected, blocked } =
            self;
        for (count, other) in [
            (calls, other.calls),
            (allowed, other.allowed),
            (reviewed, other.reviewed),
            (denied, other.denied),
            (ok, other.ok),
            (errors, other.errors),
            (timeouts, other.timeouts),
            (interrupted, other.interrupted),
            (rejected, other.rejected),
            (blocked, other.blocked),
        ] {
            *count = join(*count, other);
        }
    }
}

impl ToolSum {
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.took.add(&other.took);
    }
}

impl ToolQuery {
    fn picks(&self, cell: &Cell) -> bool {
        let is = |asked: &Option<String>, found: &str| asked.as_deref().is_none_or(|asked| asked == found);
        is(&self.tool, &cell.tool)
            && is(&self.context, &cell.context)
            && is(&self.role, &cell.role)
            && is(&self.agent, &cell.agent)
    }

    /// The same about all days, where some are asked about.
    fn of_all_days(&self) -> Option<Self> {
        let is_of_days = self.since.is_some() || self.before.is_some();
        is_of_days.then(|| Self { since: None, before: None, ..self.clone() })
    }
}

impl ReadModels {
    /// Calls of tools, summed up.
    ///
    /// # Errors
    /// [`ModelError`] while they cannot be answered.
    pub fn tools(&self, query: &ToolQuery) -> Result<ToolAnswer, ModelError> {
        let view = self.view(ToolsModel.name())?;
        let mut sums: BTreeMap<Vec<String>, ToolSum> = BTreeMap::new();
        let mut total = ToolSum::default();
        each_cell(&view, query, |day, cell| {
            let of = query.by.iter().map(|by| match by {
                ToolsBy::Tool => cell.tool.clone(),
                ToolsBy::Context => cell.context.clone(),
                ToolsBy::Role => cell.role.clone(),
                ToolsBy::Agent => cell.agent.clone(),
                // In as many digits as there can be, so that days are in their order.
                ToolsBy::Day => format!("{day:020}"),
            });
            sums.entry(of.collect()).or_default().add(&cell.sum);
            total.add(&cell.sum);
        })?;
        let mut outside = None;
        if let Some(all) = query.of_all_days().filter(|_| total.counts.calls == 0) {
            let mut calls = 0;
            each_cell(&view, &all, |_, cell| calls += cell.sum.counts.calls)?;
            outside = Some(calls);
        }
        let sums = sums.into_iter().map(|(of, sum)| ToolUsage { of: named(&query.by, of), sum }).collect();
        Ok(ToolAnswer { sums, total, outside, position: view.position() })
    }
}

/// Visits the cells that a question is about, and their days.
fn each_cell(view: &View, query: &ToolQuery, mut visit: impl FnMut(u64, Cell)) -> Result<(), ModelError> {
    let Some(last) = query.before.map_or(Some(u64::MAX), |before| before.checked_sub(1)) else {
        return Ok(());
    };
    let imports = IMPORTS.read(view)?;
    let brought = imports.iter().map(|(import, is_accepted)| {
        view.key(if is_accepted { BROUGHT } else { BROUGHT_ON }, &[&import.to_string()])
    });
    for group in [view.key(CELLS, &[])].into_iter().chain(brought) {
        for row in view.between::<Cell>(group.at(query.since.unwrap_or(0)), group.at(last).at(u64::MAX)) {
            let (key, cell) = row?;
            if query.picks(&cell) && !cell.is_empty() {
                visit(key.first_number(), cell);
            }
        }
    }
    Ok(())
}

fn named(by: &[ToolsBy], of: Vec<String>) -> Vec<(ToolsBy, String)> {
    let tell = |by: ToolsBy, text: String| match by {
        ToolsBy::Day => text.parse::<u64>().map_or(text, |day| day.to_string()),
        _ => text,
    };
    by.iter().zip(of).map(|(by, text)| (*by, tell(*by, text))).collect()
}
