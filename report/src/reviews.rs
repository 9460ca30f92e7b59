//! Reviews: who answered what, and how fast.

use std::collections::BTreeMap;

use bitacora_api::AnsweredAnswer;
use serde_json::{Value, json};

use crate::groups::{GroupSums, MISSING};
use crate::span::ReportSpan;
use crate::table::{HistoryReport, ReportColumn, ReportTable};
use crate::waits::WaitHistogram;

const COLUMNS: &[ReportColumn] = &[
    ("by", "by"),
    ("tool", "tool"),
    ("answers", "answers"),
    ("approved", "approved"),
    ("edited", "edited"),
    ("rejected", "rejected"),
    ("withdrawn", "withdrawn"),
    ("expired", "expired"),
    ("medianMs", "median ms"),
    ("longestMs", "longest ms"),
    ("last", "last answer"),
];

/// Answers to approvals, summed by answerer and tool.
#[derive(Debug, Default)]
pub struct ReviewSums(GroupSums<2, ReviewCounts>);

#[derive(Debug, Default)]
struct ReviewCounts {
    answers: u64,
    /// By the word of the answer.
    words: BTreeMap<String, u64>,
    waits: WaitHistogram,
    last: Option<String>,
}

impl ReviewSums {
    /// Counts an answer, if it is of this span.
    pub fn add(&mut self, answered: &AnsweredAnswer, span: &ReportSpan) {
        if !span.contains(&answered.time) {
            return;
        }
        let tool = answered.tool.as_deref().unwrap_or(MISSING);
        let counts = self.0.of([&answered.by, tool]);
        counts.answers += 1;
        *counts.words.entry(answered.resolution.clone()).or_default() += 1;
        answered.waited_ms.into_iter().for_each(|wait| counts.waits.add(wait));
        counts.last = counts.last.take().max(Some(answered.time.clone()));
    }

    /// Returns the table; `named` gives an actor its name.
    #[must_use]
    pub fn table(&self, named: impl Fn(&str) -> String) -> ReportTable {
        let row = |([by, tool], counts): (&[String; 2], &ReviewCounts)| -> Vec<Value> {
            let word = |word: &str| json!(counts.words.get(word).copied().unwrap_or_default());
            vec![
                json!(named(by)),
                json!(tool),
                json!(counts.answers),
                word("approved"),
                word("edited"),
                word("rejected"),
                word("withdrawn"),
                word("expired"),
                json!(counts.waits.median_ms()),
                json!(counts.waits.longest_ms()),
                json!(counts.last),
            ]
        };
        ReportTable {
            name: "reviews",
            title: ["reviews", "answers to approvals, by person or program and tool"],
            columns: COLUMNS,
            rows: self.0.iter().map(row).collect(),
            empty: "no approval was answered in that time",
        }
    }

    /// Returns the report of reviews.
    #[must_use]
    pub fn report(&self, span: ReportSpan, named: impl Fn(&str) -> String) -> HistoryReport {
        HistoryReport { name: "reviews", span, tables: vec![self.table(named)] }
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::parse_time;

    use super::*;

    fn answered(by: &str, time: &str, resolution: &str, waited_ms: Option<u64>) -> AnsweredAnswer {
        let answered = json!({"approval": "a1", "position": "7", "time": time, "resolution": resolution,
            "by": by, "tool": "sh", "waitedMs": waited_ms});
        serde_json::from_value(answered).unwrap()
    }

    #[test]
    fn answers_of_the_span_are_counted_by_person_tool_and_word() {
        let day = parse_time("2026-11-20T00:00:00Z").unwrap();
        let span = ReportSpan::day(day, day).unwrap();
        let mut sums = ReviewSums::default();
        sums.add(&answered("ana", "2026-11-20T10:00:00Z", "approved", Some(4_000)), &span);
        sums.add(&answered("ana", "2026-11-20T09:00:00Z", "rejected", Some(8)), &span);
        sums.add(&answered("ben", "2026-11-20T09:00:00Z", "expired", None), &span);
        sums.add(&answered("ana", "2026-11-21T00:00:00Z", "approved", Some(1)), &span);
        let table = sums.table(|by| format!("<{by}>"));
        assert_eq!(
            table.rows,
            [
                [
                    json!("<ana>"),
                    json!("sh"),
                    json!(2),
                    json!(1),
                    json!(0),
                    json!(1),
                    json!(0),
                    json!(0),
                    json!(8),
                    json!(4_000),
                    json!("2026-11-20T10:00:00Z")
                ],
                [
                    json!("<ben>"),
                    json!("sh"),
                    json!(1),
                    json!(0),
                    json!(0),
                    json!(0),
                    json!(0),
                    json!(1),
                    Value::Null,
                    Value::Null,
                    json!("2026-11-20T09:00:00Z")
                ],
            ]
        );
    }
}
