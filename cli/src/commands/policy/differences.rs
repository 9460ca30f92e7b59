//! Differences of two policies, as the service answers them, with the text of each.

use bitacora_api::PolicyDifferences;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::terminal::output::{Output, OutputError};
use crate::terminal::table::TextTable;

/// Returns `true` if both policies are the same.
pub(in crate::commands) fn is_none(told: &PolicyDifferences) -> bool {
    let PolicyDifferences {
        added,
        removed,
        changed,
        moved,
        trust_changed,
        key_life_changed,
        bounds_changed,
        times_changed,
        exit_codes_changed,
        unregistered_changed,
        files_changed,
        workspaces_changed,
    } = told;
    [added, removed, changed, moved].iter().all(|rules| rules.is_empty())
        && !trust_changed
        && !key_life_changed
        && !bounds_changed
        && !times_changed
        && !exit_codes_changed
        && !unregistered_changed
        && !files_changed
        && !workspaces_changed
}

/// Returns the members of a document that an answer holds as it is recorded.
pub(in crate::commands) fn members(document: &RawValue) -> Value {
    serde_json::from_str(document.get()).unwrap_or_default()
}

/// Shows them for people: rule by rule, and the numbers of trust.
pub(in crate::commands) fn write(
    told: &PolicyDifferences,
    before: &RawValue,
    after: &RawValue,
    output: &mut Output,
) -> Result<(), OutputError> {
    let (before, after) = (&members(before), &members(after));
    let mut table = TextTable::new(&["", "rule", "is"]);
    for (sign, rules, document) in [("-", &told.removed, before), ("+", &told.added, after)] {
        rules.iter().for_each(|id| table.row(&[sign, id, &rule(document, id)]));
    }
    for id in &told.changed {
        table.row(&["-", id, &rule(before, id)]);
        table.row(&["+", id, &rule(after, id)]);
    }
    for id in &told.moved {
        table.row(&["~", id, "in another place: the first rule that matches counts"]);
    }
    if told.trust_changed {
        trust(before, after, &mut table);
    }
    let settings = [
        ("key_life_s", told.key_life_changed),
        ("bounds", told.bounds_changed),
        ("times", told.times_changed),
        ("exit_codes_count", told.exit_codes_changed),
        ("unregistered", told.unregistered_changed),
        ("files", told.files_changed),
        ("workspaces", told.workspaces_changed),
    ];
    for (member, is_changed) in settings {
        for (sign, document) in [("-", before), ("+", after)].into_iter().filter(|_| is_changed) {
            if let Some(value) = document.get(member) {
                table.row(&[sign, member, &value.to_string()]);
            }
        }
    }
    table.write("they say the same", output)
}

/// Returns a rule of a version, as it is written there.
fn rule(document: &Value, id: &str) -> String {
    let rules = document.get("rules").and_then(Value::as_array).into_iter().flatten();
    let mut named = rules.filter(|rule| rule.get("id").and_then(Value::as_str) == Some(id));
    named.next().map_or("-".to_owned(), Value::to_string)
}

/// Adds the trust settings that differ.
fn trust(before: &Value, after: &Value, table: &mut TextTable) {
    let numbers =
        |document: &Value| document.get("trust").and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, after) = (numbers(before), numbers(after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| before.get(*name) != after.get(*name)) {
        for (sign, numbers) in [("-", &before), ("+", &after)] {
            if let Some(number) = numbers.get(name) {
                table.row(&[sign, &format!("trust.{name}"), &number.to_string()]);
            }
        }
    }
}
