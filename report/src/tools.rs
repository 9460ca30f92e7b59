//! Tools: how each was used, by how many agents, and for how much.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_api::{CostList, ToolCountsAnswer, ToolUsageAnswer, ToolUsageList};
use serde_json::{Value, json};

use crate::groups::MISSING;
use crate::span::ReportSpan;
use crate::table::{HistoryReport, ReportColumn, ReportTable};

const COLUMNS: &[ReportColumn] = &[
    ("tool", "tool"),
    ("agents", "agents"),
    ("calls", "calls"),
    ("allowed", "allowed"),
    ("reviewed", "reviewed"),
    ("denied", "denied"),
    ("ok", "ok"),
    ("failed", "failed"),
    ("notRun", "not run"),
    ("p50Ms", "p50 ms"),
    ("p95Ms", "p95 ms"),
    ("costUsd", "USD"),
];

/// The answers that the report of tools is made from, all of the same days.
pub struct ToolAnswers {
    /// The use of tools, by tool.
    pub by_tool: ToolUsageList,
    /// The same by tool and agent.
    pub by_agent: ToolUsageList,
    /// The costs by tool.
    pub costs: CostList,
}

impl ToolAnswers {
    /// Returns the report of tools.
    #[must_use]
    pub fn report(&self, span: ReportSpan) -> HistoryReport {
        let mut agents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for sum in &self.by_agent.usage {
            let agent = sum.agent.as_deref().filter(|agent| *agent != MISSING);
            agents.entry(tool_of(sum)).or_default().extend(agent);
        }
        let costs: BTreeMap<&str, &str> = self.costs.costs.iter().filter_map(priced).collect();
        let row = |sum: &ToolUsageAnswer| -> Vec<Value> {
            let tool = tool_of(sum);
            let agents = agents.get(tool).map_or(0, BTreeSet::len);
            let counts = &sum.counts;
            let mut row = vec![json!(tool), json!(agents)];
            row.extend(verdicts_and_ends(counts));
            row.extend([json!(counts.p50_ms), json!(counts.p95_ms), json!(costs.get(tool))]);
            row
        };
        let table = ReportTable {
            name: "tools",
            title: ["tools", "calls on whole days (UTC); costs where outcomes told them"],
            columns: COLUMNS,
            rows: self.by_tool.usage.iter().map(row).collect(),
            empty: "no tool was called on these days",
        };
        HistoryReport { name: "tools", span, tables: vec![table] }
    }
}

fn tool_of(sum: &ToolUsageAnswer) -> &str {
    sum.tool.as_deref().unwrap_or(MISSING)
}

/// Returns the cost of a tool, where one was told.
fn priced(cost: &bitacora_api::CostAnswer) -> Option<(&str, &str)> {
    let spending = &cost.spending;
    let is_told = spending.model_calls + spending.tool_calls > spending.without_cost;
    Some((cost.tool.as_deref()?, spending.cost_usd.as_str())).filter(|_| is_told)
}

/// Returns the columns from `calls` to `notRun`.
pub(crate) fn verdicts_and_ends(counts: &ToolCountsAnswer) -> Vec<Value> {
    let ends = &counts.ends;
    let numbers = [
        counts.calls,
        counts.allowed,
        counts.reviewed,
        counts.denied,
        ends.ok,
        ends.error + ends.timeout + ends.interrupted,
        ends.rejected + ends.blocked,
    ];
    numbers.map(Value::from).to_vec()
}
