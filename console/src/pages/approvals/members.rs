//! Members of a JSON object, as they are written.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Members in their order. No name comes twice: readers differ on which of the two counts.
#[derive(Debug)]
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object; nothing where it is none, or has a name twice.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        let members = serde_json::from_str::<Self>(json).ok()?;
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        let has_twice = names.windows(2).any(|pair| matches!(pair, [one, other] if one == other));
        (!has_twice).then_some(members)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a member that is a text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        text_of(self.get(name)?)
    }

    /// Removes a member that is a text, and returns it.
    pub(super) fn take_text(&mut self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        self.remove(name);
        Some(text)
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(found, _)| found != name);
    }
}

/// Returns a value that is a text.
pub(super) fn text_of(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_they_are_written_and_no_name_comes_twice() {
        let members = Members::read(r#"{"b":1.10000000000000000001,"a":"x"}"#).unwrap();
        assert_eq!(members.get("b").unwrap().get(), "1.10000000000000000001");
        assert_eq!(members.text("a").as_deref(), Some("x"));
        assert!(Members::read(r#"{"command":"a","command":"b"}"#).is_none());
        assert!(Members::read(r#"{"command":"a","\u0063ommand":"b"}"#).is_none());
        assert!(Members::read("[1]").is_none());
    }
}
