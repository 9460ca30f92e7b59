//! A policy as a person wrote it: its members with their text, and the lines that faults are in.

use bitacora_api::ProblemAnswer;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{JsonFault, Members};

/// A policy that somebody wrote: a JSON object whose members keep their text, so that a fault can be found in it.
pub(super) struct WrittenPolicy<'a> {
    text: &'a str,
    /// A name that comes twice stays so, and the interface refuses it.
    members: Members<'a>,
    /// Members that the form adds.
    added: Vec<(&'static str, String)>,
}

/// A fault of a written policy, and the line that it is in, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenFault {
    pub(super) line: Option<usize>,
    pub(super) detail: String,
}

impl<'a> WrittenPolicy<'a> {
    /// Reads the text of a policy. Rules are not looked at: the interface does that.
    pub(super) fn read(text: &'a str) -> Result<Self, WrittenFault> {
        let members = Members::read(text).map_err(|error| {
            let fault = JsonFault::of(&error, text);
            WrittenFault {
                line: Some(fault.line),
                detail: format!("Column {}: {}.", fault.column, fault.words),
            }
        })?;
        Ok(Self { text, members, added: Vec::new() })
    }

    /// Adds a member, unless it is written.
    pub(super) fn add(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value.filter(|_| !self.members.has(name)) {
            self.added.push((name, value.to_owned()));
        }
    }

    /// Returns the fault that a problem of the interface names, with its line in this text.
    pub(super) fn fault(&self, problem: &ProblemAnswer) -> WrittenFault {
        let fault = problem.errors.iter().find(|fault| fault.pointer.is_some());
        let by_pointer = fault.and_then(|fault| self.line_at(fault.pointer.as_deref()?, &fault.detail));
        let line = by_pointer.or_else(|| self.line_of_rule(&problem.detail));
        WrittenFault { line, detail: without_places(&problem.detail) }
    }

    /// Returns the line of the value at a JSON pointer. A detail that names a line counts it from that value on.
    fn line_at(&self, pointer: &str, detail: &str) -> Option<usize> {
        let mut steps = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
        let first = steps.next()?;
        let mut value = self.members.get(&first)?;
        for step in steps {
            let Some(inner) = inner(value, &step) else { break };
            value = inner;
        }
        let within =
            detail.rsplit_once(" at line ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        Some(self.line_of(value)? + within.unwrap_or(1_usize).saturating_sub(1))
    }

    /// Returns the line of the rule that a detail names by its id or its number.
    fn line_of_rule(&self, detail: &str) -> Option<usize> {
        let rules: Vec<&RawValue> = serde_json::from_str(self.members.get("rules")?.get()).ok()?;
        let (_, named) = detail.split_once("rule ").or_else(|| detail.split_once("rules "))?;
        let rule = if let Some(quoted) = named.strip_prefix('`') {
            let (id, _) = quoted.split_once('`')?;
            rules.into_iter().find(|rule| {
                let value: Value = serde_json::from_str(rule.get()).unwrap_or_default();
                value
                    .get("id")
                    .and_then(Value::as_str)
                    .is_some_and(|found| found.escape_debug().to_string() == id)
            })
        } else {
            let digits: String = named.chars().take_while(char::is_ascii_digit).collect();
            rules.into_iter().nth(digits.parse::<usize>().ok()?.checked_sub(1)?)
        };
        self.line_of(rule?)
    }

    /// Returns the line of a value that is a part of this text.
    fn line_of(&self, value: &RawValue) -> Option<usize> {
        let start = value.get().as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        Some(self.text.get(..start)?.matches('\n').count() + 1)
    }
}

/// Returns a detail without the lines that it names: they count within a part of the text, and not as its writer does.
fn without_places(detail: &str) -> String {
    let mut parts = detail.split(" at line ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match behind_place(part) {
            Some(rest) => shown.push_str(rest),
            None => shown.extend([" at line ", part]),
        }
    }
    shown
}

/// Returns what stands behind a line and a column.
fn behind_place(of: &str) -> Option<&str> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let rest = of.strip_prefix(is_digit)?.trim_start_matches(is_digit);
    let rest = rest.strip_prefix(" column ")?.strip_prefix(is_digit)?;
    Some(rest.trim_start_matches(is_digit))
}

/// Returns the value one step below another one.
fn inner<'a>(value: &'a RawValue, step: &str) -> Option<&'a RawValue> {
    if value.get().starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
        return items.into_iter().nth(step.parse().ok()?);
    }
    Members::read(value.get()).ok()?.get(step)
}

impl Serialize for WrittenPolicy<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.members.iter() {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in &self.added {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "{\n  \"rules\": [\n    {\"id\": \"a\", \"match\": {}},\n    {\n      \"id\": \"b c\",\n      \"match\": {\"tool\": 7}\n    }\n  ],\n  \"trust\": {\"z\":\n   8}\n}";

    fn problem(detail: &str, pointer: Option<&str>) -> ProblemAnswer {
        let errors = pointer.map(|pointer| serde_json::json!({"pointer": pointer, "detail": detail}));
        serde_json::from_value(serde_json::json!({
            "type": "t", "title": "t", "status": 400, "detail": detail, "code": "schema", "retryable": false,
            "sideEffects": "none", "errors": errors.into_iter().collect::<Vec<_>>(),
        }))
        .unwrap()
    }

    #[test]
    fn a_fault_is_found_in_its_line() {
        let policy = WrittenPolicy::read(WRITTEN).unwrap();
        for (detail, pointer, line) in [
            ("it is not taken", Some("/rules/1/match/tool"), Some(6)),
            ("invalid type at line 5 column 24", Some("/rules"), Some(6)),
            ("it is not known here", Some("/trust/z"), Some(10)),
            ("it is missing", Some("/nothing"), None),
            ("the rules cannot be meant: rule `b c`, match.tool, `[`: no glob", None, Some(4)),
            ("rule 1: no action; mend it", None, Some(3)),
            ("rule 9: no action", None, None),
            ("rules 2 and 1 are both called `a`", None, Some(4)),
            ("anything else", None, None),
        ] {
            assert_eq!(policy.fault(&problem(detail, pointer)).line, line, "{detail}");
        }
    }

    #[test]
    fn a_fault_names_one_line_that_of_the_text() {
        let policy = WrittenPolicy::read(WRITTEN).unwrap();
        let told = "at /rules: invalid type at line 5 column 24; and `a at line x` at line 7 column 1";
        let fault = policy.fault(&problem(told, Some("/rules")));
        assert_eq!(fault.detail, "at /rules: invalid type; and `a at line x`");
        let no_json = WrittenPolicy::read("{\n  \"rules\": [\n,]}").err().unwrap();
        assert_eq!(no_json.line, Some(3));
        assert!(no_json.detail.starts_with("Column 1: ") && !no_json.detail.contains("line"), "{no_json:?}");
    }

    #[test]
    fn a_text_that_is_no_object_is_refused_at_its_line() {
        assert_eq!(WrittenPolicy::read("{\"rules\": [\n,]}").err().unwrap().line, Some(2));
        assert!(WrittenPolicy::read("[]").is_err());
        assert!(WrittenPolicy::read("").is_err());
    }

    #[test]
    fn members_are_sent_as_they_are_written() {
        let mut policy =
            WrittenPolicy::read("{\"rules\": [1.50, {\"a\":1,\"a\":2}], \"rules\": []}").unwrap();
        policy.add("parent", Some("3"));
        policy.add("rules", Some("x"));
        policy.add("note", None);
        let sent = serde_json::to_string(&policy).unwrap();
        assert_eq!(sent, "{\"rules\":[1.50, {\"a\":1,\"a\":2}],\"rules\":[],\"parent\":\"3\"}");
    }
}
