//! What two versions of a policy say otherwise, rule by rule.

use serde_json::{Value, json};

use crate::output::{Output, OutputError};
use crate::table::{Table, shortened};

/// What became of a rule, or of a number of trust, from one version to the other.
struct Difference<'a> {
    /// The rule's id, or the number's name.
    name: String,
    one: Option<&'a Value>,
    other: Option<&'a Value>,
    /// Both are the same, in another place among the rules.
    moved: bool,
}

/// Shows them; whether there is none.
pub(super) fn write(
    one: Option<&Value>,
    other: Option<&Value>,
    as_json: bool,
    output: &mut Output,
) -> Result<bool, OutputError> {
    let mut found = rules(one, other);
    found.extend(trust(one, other));
    let same = found.is_empty();
    let version = |document: Option<&Value>| document.and_then(|document| document.get("version")).cloned();
    if as_json {
        let differences: Vec<Value> = found.iter().map(Difference::to_json).collect();
        output.json(&json!({
            "same": same, "one": version(one), "other": version(other), "differences": differences,
        }))?;
        return Ok(same);
    }
    let shown = |document| version(document).map_or("none".to_owned(), |version| version.to_string());
    output.line(shortened(&format!("from version {} to version {}", shown(one), shown(other))))?;
    let mut table = Table::new(&["", "rule", "is"]);
    for difference in &found {
        difference.add_to(&mut table);
    }
    table.write("they say the same", output)?;
    Ok(same)
}

/// Rules by their ids, in the order of the second version, then those that it has no more.
fn rules<'a>(one: Option<&'a Value>, other: Option<&'a Value>) -> Vec<Difference<'a>> {
    let (one, other) = (rules_of(one), rules_of(other));
    let kept = |from: &[(&str, &Value)], to: &[(&str, &Value)]| -> Vec<String> {
        let both = from.iter().filter(|(id, _)| to.iter().any(|(same, _)| same == id));
        both.map(|(id, _)| (*id).to_owned()).collect()
    };
    let (before, after) = (kept(&one, &other), kept(&other, &one));
    let mut found = Vec::new();
    for (id, rule) in &other {
        let old = one.iter().find(|(same, _)| same == id).map(|(_, rule)| *rule);
        let place = |ids: &[String]| ids.iter().position(|same| same == id);
        let moved = old == Some(*rule) && place(&before) != place(&after);
        if moved || old != Some(*rule) {
            found.push(Difference { name: (*id).to_owned(), one: old, other: Some(*rule), moved });
        }
    }
    for (id, rule) in &one {
        if !other.iter().any(|(same, _)| same == id) {
            found.push(Difference { name: (*id).to_owned(), one: Some(*rule), other: None, moved: false });
        }
    }
    found
}

fn rules_of(document: Option<&Value>) -> Vec<(&str, &Value)> {
    let rules = document.and_then(|document| document.get("rules")).and_then(Value::as_array);
    rules.into_iter().flatten().filter_map(|rule| Some((rule.get("id")?.as_str()?, rule))).collect()
}

/// The numbers that trust is judged by.
fn trust<'a>(one: Option<&'a Value>, other: Option<&'a Value>) -> Vec<Difference<'a>> {
    let numbers =
        |document: Option<&'a Value>| document.and_then(|document| document.get("trust")?.as_object());
    let (one, other) = (numbers(one), numbers(other));
    let names = one.into_iter().chain(other).flat_map(|numbers| numbers.keys());
    let mut names: Vec<&String> = names.collect();
    names.sort_unstable();
    names.dedup();
    let difference = |name: &String| {
        let (one, other) = (one.and_then(|all| all.get(name)), other.and_then(|all| all.get(name)));
        (one != other).then(|| Difference { name: format!("trust.{name}"), one, other, moved: false })
    };
    names.into_iter().filter_map(difference).collect()
}

impl Difference<'_> {
    fn to_json(&self) -> Value {
        json!({"name": self.name, "one": self.one, "other": self.other, "moved": self.moved})
    }

    fn add_to(&self, table: &mut Table) {
        if self.moved {
            return table.row(&["~", &self.name, "in another place: the first rule that matches counts"]);
        }
        for (sign, value) in [("-", self.one), ("+", self.other)] {
            if let Some(value) = value {
                table.row(&[sign, &self.name, &value.to_string()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(one: &Value, other: &Value) -> Vec<(String, bool, bool, bool)> {
        let differences = rules(Some(one), Some(other)).into_iter().chain(trust(Some(one), Some(other)));
        let told = |it: Difference<'_>| (it.name, it.one.is_some(), it.other.is_some(), it.moved);
        differences.map(told).collect()
    }

    #[test]
    fn rules_are_added_changed_moved_and_taken_away() {
        let rule = |id: &str, action: &str| json!({"id": id, "action": action});
        let policy = |rules: &[Value]| json!({"rules": rules, "trust": {"a": 1}});
        let one = policy(&[rule("a", "deny"), rule("b", "allow"), rule("c", "allow")]);
        assert_eq!(found(&one, &one), []);
        let other = policy(&[rule("c", "allow"), rule("a", "deny"), rule("d", "deny")]);
        assert_eq!(
            found(&one, &other),
            [
                ("c".to_owned(), true, true, true),
                ("a".to_owned(), true, true, true),
                ("d".to_owned(), false, true, false),
                ("b".to_owned(), true, false, false),
            ]
        );
        let stricter = policy(&[rule("a", "deny"), rule("b", "review"), rule("c", "allow")]);
        assert_eq!(found(&one, &stricter), [("b".to_owned(), true, true, false)]);
    }

    #[test]
    fn numbers_of_trust_are_told_by_their_names() {
        let policy = |trust: Value| json!({"rules": [], "trust": trust});
        let differences = found(&policy(json!({"a": 1, "b": 2})), &policy(json!({"a": 1, "b": 3, "c": 4})));
        assert_eq!(
            differences,
            [("trust.b".to_owned(), true, true, false), ("trust.c".to_owned(), false, true, false)]
        );
    }
}
