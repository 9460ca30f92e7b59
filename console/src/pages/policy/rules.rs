//! The rules of a version, with how often each decided.

use std::collections::HashMap;

use bitacora_api::{CallList, paths};
use maud::{Markup, html};
use serde_json::Value;

use crate::components::{grouped, sentence, text, verdict_badge};
use crate::page_error::PageError;
use crate::table::{Table, TableCell, TableColumn};
use crate::visit::Visit;

/// The newest calls that are looked through for the rules that decided them.
const COUNTED_CALLS: u32 = 200;
/// The most values of one member that a cell shows before it is folded.
const SHOWN_VALUES: usize = 3;
/// The members of a match that are shown first.
const FIRST_MEMBERS: [&str; 2] = ["tool", "context"];
/// The unit of scores in policies.
const SCORE_UNIT: f64 = 10_000.0;

/// The number of decisions of each rule, of the newest calls.
pub(super) struct RuleCounts {
    of_rules: HashMap<String, u64>,
    without: u64,
    /// The calls that the version decided.
    calls: u64,
    /// The calls that were looked through.
    looked_at: u64,
}

impl RuleCounts {
    /// Counts the newest calls that a version decided; none without the read model of calls.
    pub(super) async fn of(visit: &Visit, version: &str) -> Result<Option<Self>, PageError> {
        let query = format!("?limit={COUNTED_CALLS}");
        let asked = visit.get::<CallList>(paths::CALLS, &[], &query).await;
        let Some(answered) = PageError::if_told(asked)? else { return Ok(None) };
        let calls = answered.value.calls;
        let looked_at = calls.len() as u64;
        let mut counts = Self { of_rules: HashMap::new(), without: 0, calls: 0, looked_at };
        for decision in calls.into_iter().filter_map(|call| call.decision) {
            if decision.policy_version.as_deref() != Some(version) {
                continue;
            }
            counts.calls += 1;
            match decision.rule {
                Some(rule) => *counts.of_rules.entry(rule).or_default() += 1,
                None => counts.without += 1,
            }
        }
        Ok(Some(counts))
    }

    /// Returns what was counted, in a sentence.
    pub(super) fn note(counts: Option<&Self>) -> Markup {
        let Some(counts) = counts else {
            return html! { p.note { "The number of decisions of each rule is not known now: the read model of calls does not answer." } };
        };
        html! { p.note { (counts.sentences()) } }
    }

    fn sentences(&self) -> String {
        let Self { without, calls, looked_at, .. } = self;
        let newest = match looked_at {
            0 => return "No call is recorded yet, so no rule has decided one.".to_owned(),
            1 => "the only call".to_owned(),
            all if *all < u64::from(COUNTED_CALLS) => format!("all {} calls", grouped(all)),
            all => format!("the newest {} calls", grouped(all)),
        };
        let decided = match calls {
            0 => {
                return format!(
                    "This version has decided none yet: {newest} came before it, or needed no decision."
                );
            }
            calls if calls == looked_at => format!("This version decided {newest}."),
            calls => format!("This version decided {} of {newest}.", grouped(calls)),
        };
        match without {
            0 => format!("{decided} A rule matched each of them."),
            1 => format!("{decided} One of them matched no rule: other checks decided it."),
            without => {
                format!("{decided} {} of them matched no rule: other checks decided those.", grouped(without))
            }
        }
    }
}

/// Returns the table of the rules of a document, in the order in which they are tried.
pub(super) fn table(document: &Value, counts: Option<&RuleCounts>) -> Table {
    let rules = document.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut columns = vec![
        TableColumn::number("Place"),
        TableColumn::text("Rule"),
        TableColumn::text("Verdict"),
        TableColumn::text("Matches"),
        TableColumn::text("Reason"),
    ];
    if counts.is_some() {
        columns.insert(3, TableColumn::number("Decided"));
    }
    Table {
        caption: "Rules; the first that matches decides".to_owned(),
        columns,
        rows: (1_usize..).zip(rules).map(|(place, rule)| row(place, rule, counts)).collect(),
        empty: "This version has no rules.",
    }
}

fn row(place: usize, rule: &Value, counts: Option<&RuleCounts>) -> Vec<TableCell> {
    let member = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
    let (id, action) = (member("id"), member("action"));
    let conditions = rule.get("match").unwrap_or(&Value::Null);
    let mut cells = vec![
        TableCell::text(place.to_string()),
        TableCell::new(id, html! { code.unbroken { (text(id)) } }),
        TableCell::new(action, html! { (verdict_badge(action)) (remarks(rule)) }),
        TableCell::new(conditions.to_string(), matches(conditions)),
        TableCell::new(
            member("reason"),
            html! { (sentence(member("reason"))) @if !member("comment").is_empty() { br; span.quiet-text { (sentence(member("comment"))) } } },
        ),
    ];
    if let Some(counts) = counts {
        let count = counts.of_rules.get(id).copied().unwrap_or(0);
        cells.insert(3, TableCell::count(count));
    }
    cells
}

/// Returns what a rule says beside its verdict.
fn remarks(rule: &Value) -> Markup {
    let is_never = rule.get("never_auto_approve").and_then(Value::as_bool) == Some(true);
    html! {
        @if is_never { br; span.quiet-text { "each time" } }
        @if let Some(score) = rule.get("min_trust_score").and_then(Value::as_f64) { br; span.quiet-text { "from a score of " (score / SCORE_UNIT) } }
    }
}

/// Returns the conditions of a rule, one a line.
pub(super) fn matches(conditions: &Value) -> Markup {
    let mut members: Vec<_> = conditions.as_object().into_iter().flatten().collect();
    let rank =
        |name: &str| FIRST_MEMBERS.iter().position(|first| *first == name).unwrap_or(FIRST_MEMBERS.len());
    members.sort_by_key(|(name, _)| rank(name));
    html! {
        @if members.is_empty() { "every call" }
        @for (name, value) in members {
            div { span.quiet-text { (text(&name.replace('_', " "))) } " " (condition(value)) }
        }
    }
}

fn condition(value: &Value) -> Markup {
    let Some(values) = value.as_array() else { return html! { code { (text(&words(value))) } } };
    let all: Vec<_> = values.iter().map(words).collect();
    let (first, rest) = all.split_at(all.len().min(SHOWN_VALUES));
    let codes = |of: &[String]| html! { @for (at, word) in of.iter().enumerate() { @if at > 0 { ", " } code { (text(word)) } } };
    html! {
        (codes(first))
        @if !rest.is_empty() { details.inline { summary { "and " (rest.len()) " more" } (codes(rest)) } }
    }
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(looked_at: u64, calls: u64, without: u64) -> String {
        RuleCounts { of_rules: HashMap::new(), without, calls, looked_at }.sentences()
    }

    #[test]
    fn what_a_version_decided_is_told_in_words_where_it_decided_nothing_too() {
        assert_eq!(told(0, 0, 0), "No call is recorded yet, so no rule has decided one.");
        let none =
            "This version has decided none yet: the newest 200 calls came before it, or needed no decision.";
        assert_eq!(told(200, 0, 0), none);
        assert_eq!(told(12, 7, 0), "This version decided 7 of all 12 calls. A rule matched each of them.");
        assert_eq!(
            told(200, 200, 0),
            "This version decided the newest 200 calls. A rule matched each of them."
        );
        assert!(told(200, 9, 1).ends_with("One of them matched no rule: other checks decided it."));
        assert!(told(200, 9, 3).ends_with("3 of them matched no rule: other checks decided those."));
    }
}
