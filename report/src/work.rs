//! Work: who asked for which calls, and what came of them.

use bitacora_api::CallAnswer;
use serde_json::{Value, json};

use crate::groups::{GroupSums, MISSING};
use crate::span::ReportSpan;
use crate::table::{HistoryReport, ReportColumn, ReportTable};

const COLUMNS: &[ReportColumn] = &[
    ("agent", "agent"),
    ("actor", "actor"),
    ("tool", "tool"),
    ("calls", "calls"),
    ("reviewed", "reviewed"),
    ("denied", "denied"),
    ("ok", "ok"),
    ("failed", "failed"),
    ("notRun", "not run"),
    ("open", "open"),
    ("artifacts", "artifacts"),
    ("first", "first"),
    ("last", "last"),
];

/// Calls, summed by agent, actor and tool.
#[derive(Debug, Default)]
pub struct WorkSums(GroupSums<3, WorkCounts>);

#[derive(Debug, Default)]
struct WorkCounts {
    calls: u64,
    reviewed: u64,
    denied: u64,
    ok: u64,
    failed: u64,
    not_run: u64,
    open: u64,
    artifacts: u64,
    first: Option<String>,
    last: Option<String>,
}

impl WorkSums {
    /// Counts a call.
    pub fn add(&mut self, call: &CallAnswer) {
        let part = |part: &Option<String>| part.clone().unwrap_or_else(|| MISSING.to_owned());
        let (agent, actor) = (part(&call.agent), part(&call.actor));
        let counts = self.0.of([&agent, &actor, &call.tool]);
        counts.calls += 1;
        match call.decision.as_ref().map(|decision| decision.verdict.as_str()) {
            Some("deny") => counts.denied += 1,
            Some("review") => counts.reviewed += 1,
            _ if call.approval.is_some() => counts.reviewed += 1,
            _ => {}
        }
        match call.state.as_str() {
            "ok" => counts.ok += 1,
            "error" | "timeout" | "interrupted" => counts.failed += 1,
            "open" | "pending" => counts.open += 1,
            _ => counts.not_run += 1,
        }
        counts.artifacts += call.outcome.as_ref().map_or(0, |outcome| outcome.artifacts.len() as u64);
        let time = Some(call.time.clone());
        if counts.first.is_none() || counts.first > time {
            counts.first.clone_from(&time);
        }
        counts.last = counts.last.take().max(time);
    }

    /// Returns the report of who did what.
    #[must_use]
    pub fn report(&self, span: ReportSpan) -> HistoryReport {
        let row = |([agent, actor, tool], counts): (&[String; 3], &WorkCounts)| -> Vec<Value> {
            let numbers = [
                counts.calls,
                counts.reviewed,
                counts.denied,
                counts.ok,
                counts.failed,
                counts.not_run,
                counts.open,
                counts.artifacts,
            ];
            let names = [agent, actor, tool].map(|name| json!(name));
            let times = [&counts.first, &counts.last].map(|time| json!(time));
            names.into_iter().chain(numbers.map(Value::from)).chain(times).collect()
        };
        let table = ReportTable {
            name: "work",
            title: ["who did what", "calls by agent, actor and tool"],
            columns: COLUMNS,
            rows: self.0.iter().map(row).collect(),
            empty: "no call was made in that time",
        };
        HistoryReport { name: "who-did-what", span, tables: vec![table] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(state: &str, verdict: &str, time: &str, more: &Value) -> CallAnswer {
        let mut call = json!({"position": "7", "time": time, "recorded": time, "call": "c1", "tool": "sh",
            "agent": "coder", "asked": 1, "imported": false, "state": state, "late": false,
            "decision": {"position": "8", "verdict": verdict, "mode": "enforce", "reasonCode": "x", "reason": "x"}});
        let members = more.as_object().unwrap().clone();
        call.as_object_mut().unwrap().extend(members);
        serde_json::from_value(call).unwrap()
    }

    #[test]
    fn calls_are_counted_by_what_was_said_and_what_came_of_them() {
        let mut sums = WorkSums::default();
        let made = json!({"outcome": {"position": "9", "time": "2026-11-20T10:00:00Z", "status": "ok",
            "artifacts": [{"path": "a"}, {"path": "b"}]}});
        let approved = json!({"approval": {"id": "a1", "position": "8", "time": "2026-11-20T10:00:00Z"}});
        let (early, late) = ("2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z");
        sums.add(&call("ok", "allow", late, &made));
        sums.add(&call("error", "allow", early, &approved));
        sums.add(&call("denied", "deny", early, &json!({})));
        sums.add(&call("pending", "review", early, &json!({"agent": null, "actor": "ana"})));
        let report = sums.report(ReportSpan::default());
        let rows = report.tables.first().unwrap().rows.clone();
        let row = |names: [&str; 3], numbers: [u64; 8], times: [&str; 2]| -> Vec<Value> {
            let (names, times) = (names.map(Value::from), times.map(Value::from));
            names.into_iter().chain(numbers.map(Value::from)).chain(times).collect()
        };
        assert_eq!(
            rows,
            [
                row(["-", "ana", "sh"], [1, 1, 0, 0, 0, 0, 1, 0], [early, early]),
                row(["coder", "-", "sh"], [3, 1, 1, 1, 1, 1, 0, 2], [early, late]),
            ]
        );
    }
}
