//! A day: decisions by hour, tools, agents, models, sessions, reviews and gaps.

use std::collections::BTreeMap;

use bitacora_api::{CostList, DecisionMinuteAnswer, GapAnswer, SessionAnswer, ToolUsageList};
use serde_json::{Value, json};

use crate::groups::{GroupSums, MISSING};
use crate::reviews::ReviewSums;
use crate::span::ReportSpan;
use crate::table::{HistoryReport, ReportColumn, ReportTable};
use crate::tools::verdicts_and_ends;

const HOURS: &[ReportColumn] =
    &[("hour", "hour"), ("allow", "allow"), ("review", "review"), ("deny", "deny")];
const TOOLS: &[ReportColumn] = &[
    ("tool", "tool"),
    ("calls", "calls"),
    ("allowed", "allowed"),
    ("reviewed", "reviewed"),
    ("denied", "denied"),
    ("ok", "ok"),
    ("failed", "failed"),
    ("notRun", "not run"),
];
const AGENTS: &[ReportColumn] = &[
    ("agent", "agent"),
    ("calls", "calls"),
    ("allowed", "allowed"),
    ("reviewed", "reviewed"),
    ("denied", "denied"),
    ("ok", "ok"),
    ("failed", "failed"),
    ("notRun", "not run"),
];
const MODELS: &[ReportColumn] = &[
    ("model", "model"),
    ("modelCalls", "answers"),
    ("toolCalls", "tool calls"),
    ("withoutCost", "without cost"),
    ("costUsd", "USD"),
    ("tokensIn", "tokens in"),
    ("tokensOut", "tokens out"),
];
const SESSIONS: &[ReportColumn] =
    &[("agent", "agent"), ("harness", "harness"), ("begun", "begun"), ("ended", "ended"), ("open", "open")];
const GAPS: &[ReportColumn] = &[("agent", "agent"), ("missing", "missing"), ("gaps", "gaps")];

/// The answers that the report of a day is made from. Lists are summed page by page.
#[derive(Debug, Default)]
pub struct DaySums {
    /// Verdicts by hour: `allow`, `review` and `deny`.
    hours: BTreeMap<String, [u64; 3]>,
    /// Sessions by agent and harness: ended, open.
    sessions: GroupSums<2, [u64; 2]>,
    /// Gaps by agent and missing half.
    gaps: GroupSums<2, u64>,
    /// The answers to approvals.
    pub reviews: ReviewSums,
}

/// The sums that the service makes itself.
pub struct DayLists {
    /// The use of tools, by tool.
    pub tools: ToolUsageList,
    /// The use of tools, by agent.
    pub agents: ToolUsageList,
    /// The costs by model.
    pub models: CostList,
}

impl DaySums {
    /// Counts the decisions of a minute.
    pub fn add_minute(&mut self, minute: &DecisionMinuteAnswer) {
        // `2026-11-20T13`, of `2026-11-20T13:05:00Z`.
        let hour = minute.minute.split(':').next().unwrap_or_default();
        let [allow, review, deny] = self.hours.entry(format!("{hour}:00:00Z")).or_default();
        *allow += minute.allow;
        *review += minute.review;
        *deny += minute.deny;
    }

    /// Counts a session that began that day.
    pub fn add_session(&mut self, session: &SessionAnswer) {
        let part = |part: &Option<String>| part.clone().unwrap_or_else(|| MISSING.to_owned());
        let (agent, harness) = (part(&session.agent), part(&session.harness));
        let [ended, open] = self.sessions.of([&agent, &harness]);
        *(if session.state == "ended" { ended } else { open }) += 1;
    }

    /// Counts a gap, if it is of this span.
    pub fn add_gap(&mut self, gap: &GapAnswer, span: &ReportSpan) {
        if span.contains(&gap.time) {
            let agent = gap.agent.as_deref().unwrap_or(MISSING);
            *self.gaps.of([agent, &gap.missing]) += 1;
        }
    }

    /// Returns the report of the day; `named` gives an actor its name.
    #[must_use]
    pub fn report(
        &self,
        lists: &DayLists,
        span: ReportSpan,
        named: impl Fn(&str) -> String,
    ) -> HistoryReport {
        let tables = vec![
            self.decisions(),
            usage("tools", ["tools", "calls by tool"], TOOLS, &lists.tools),
            usage("agents", ["agents", "calls by agent"], AGENTS, &lists.agents),
            models(&lists.models),
            self.sessions(),
            self.reviews.table(named),
            self.gaps(),
        ];
        HistoryReport { name: "day", span, tables }
    }

    fn decisions(&self) -> ReportTable {
        let row = |(hour, verdicts): (&String, &[u64; 3])| {
            std::iter::once(json!(hour)).chain(verdicts.map(Value::from)).collect()
        };
        ReportTable {
            name: "decisions",
            title: ["decisions", "verdicts by hour (UTC)"],
            columns: HOURS,
            rows: self.hours.iter().map(row).collect(),
            empty: "nothing was decided",
        }
    }

    fn sessions(&self) -> ReportTable {
        let row = |([agent, harness], [ended, open]): (&[String; 2], &[u64; 2])| {
            vec![json!(agent), json!(harness), json!(ended + open), json!(ended), json!(open)]
        };
        ReportTable {
            name: "sessions",
            title: ["sessions", "those that began that day, as they stand now"],
            columns: SESSIONS,
            rows: self.sessions.iter().map(row).collect(),
            empty: "no session began",
        }
    }

    fn gaps(&self) -> ReportTable {
        let row =
            |([agent, missing], gaps): (&[String; 2], &u64)| vec![json!(agent), json!(missing), json!(gaps)];
        ReportTable {
            name: "gaps",
            title: ["gaps", "calls with half of their record missing"],
            columns: GAPS,
            rows: self.gaps.iter().map(row).collect(),
            empty: "no gap was recorded",
        }
    }
}

fn usage(
    name: &'static str,
    title: [&'static str; 2],
    columns: &'static [ReportColumn],
    list: &ToolUsageList,
) -> ReportTable {
    let rows = list.usage.iter().map(|sum| {
        let of = sum.tool.as_deref().or(sum.agent.as_deref()).unwrap_or(MISSING);
        std::iter::once(json!(of)).chain(verdicts_and_ends(&sum.counts)).collect()
    });
    ReportTable { name, title, columns, rows: rows.collect(), empty: "no tool was called" }
}

fn models(costs: &CostList) -> ReportTable {
    let rows = costs.costs.iter().map(|cost| {
        let spending = &cost.spending;
        vec![
            json!(cost.model.as_deref().unwrap_or(MISSING)),
            json!(spending.model_calls),
            json!(spending.tool_calls),
            json!(spending.without_cost),
            json!(spending.cost_usd),
            json!(spending.tokens_in),
            json!(spending.tokens_out),
        ]
    });
    ReportTable {
        name: "models",
        title: ["models", "answers and costs, as they were told"],
        columns: MODELS,
        rows: rows.collect(),
        empty: "nothing was spent",
    }
}
