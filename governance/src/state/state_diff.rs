//! The differences between two states, by part and key.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::state::State;
use crate::state::digest::{PartVisitor, StatePart, UnwritableState};

/// Something that is not the same in two states.
#[derive(Debug, Clone, PartialEq)]
pub struct StateDifference {
    /// The part.
    pub part: &'static str,
    /// The key within it.
    pub key: String,
    /// The value in the first one.
    pub one: Option<Value>,
    /// The value in the other one.
    pub other: Option<Value>,
}

/// The differences, the first of them in full.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StateDifferences {
    /// The first of them, by part and key.
    pub shown: Vec<StateDifference>,
    /// The number of all differences.
    pub found: u64,
}

impl State {
    /// Returns the differences from another state, in order; at most `most` of them.
    ///
    /// # Errors
    /// [`UnwritableState`].
    pub fn differences(&self, other: &Self, most: usize) -> Result<StateDifferences, UnwritableState> {
        let mut differences = StateDifferences::default();
        let mut others = Entries::default();
        other.each_part(&mut others)?;
        let mut ours = Entries::default();
        self.each_part(&mut ours)?;
        let mut note = |part, key: String, one, other| {
            differences.found += 1;
            if differences.shown.len() < most {
                differences.shown.push(StateDifference { part, key, one, other });
            }
        };
        for (part, entries) in ours.0 {
            let mut facing = others.0.remove(&part).unwrap_or_default();
            for (key, one) in entries {
                let other = facing.remove(&key);
                if other.as_ref() != Some(&one) {
                    note(part.name, key, Some(one), other);
                }
            }
            facing.into_iter().for_each(|(key, other)| note(part.name, key, None, Some(other)));
        }
        Ok(differences)
    }
}

/// The parts of a state, each taken apart into keys and values.
#[derive(Default)]
struct Entries(BTreeMap<StatePart, BTreeMap<String, Value>>);

impl PartVisitor for Entries {
    type Error = UnwritableState;

    fn part<T: Serialize + Default + PartialEq>(
        &mut self,
        part: StatePart,
        value: &T,
    ) -> Result<(), UnwritableState> {
        let value = serde_json::to_value(value).map_err(|source| UnwritableState::new(part, source))?;
        take_apart(String::new(), value, self.0.entry(part).or_default());
        Ok(())
    }
}

/// Takes a value apart. A sequence of pairs is a map, whose values are kept whole; of an object each member is looked at by itself.
fn take_apart(at: String, value: Value, into: &mut BTreeMap<String, Value>) {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at} {name}") };
    match value {
        Value::Object(members) => {
            members.into_iter().for_each(|(name, value)| take_apart(below(&name), value, into));
        }
        Value::Array(elements) => {
            for (index, element) in elements.into_iter().enumerate() {
                match pair(element) {
                    Ok((key, value)) => into.insert(below(&key), value),
                    Err(element) => into.insert(below(&index.to_string()), element),
                };
            }
        }
        other => {
            into.insert(at, other);
        }
    }
}

fn pair(element: Value) -> Result<(String, Value), Value> {
    match element {
        Value::Array(mut both) if both.len() == 2 => {
            let (value, key) = (both.pop().unwrap_or_default(), both.pop().unwrap_or_default());
            Ok((key.as_str().map_or_else(|| key.to_string(), str::to_owned), value))
        }
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pairs_are_taken_apart_by_their_keys_and_other_lists_by_their_places() {
        let mut found = BTreeMap::new();
        let state =
            json!({"map": [["a", 1], [{"b": 2}, 3]], "list": [[1, 2, 3], 4, []], "none": [], "one": 5});
        take_apart(String::new(), state, &mut found);
        let expected = [
            ("list 0", json!([1, 2, 3])),
            ("list 1", json!(4)),
            ("list 2", json!([])),
            ("map a", json!(1)),
            ("map {\"b\":2}", json!(3)),
            ("one", json!(5)),
        ];
        assert!(found.iter().map(|(key, value)| (key.as_str(), value.clone())).eq(expected), "{found:?}");
    }
}
