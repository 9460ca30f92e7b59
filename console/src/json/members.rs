//! The members of a JSON object, as they are written.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Members in their order; a name may come twice.
#[derive(Debug)]
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object.
    pub(crate) fn read(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// Reads an object; nothing where it is none, or has a name twice: readers differ on which of the two counts.
    pub(crate) fn read_unique(json: &'a str) -> Option<Self> {
        let members = Self::read(json).ok()?;
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        let has_twice = names.windows(2).any(|pair| matches!(pair, [one, other] if one == other));
        (!has_twice).then_some(members)
    }

    /// Returns the object with those members alone whose names are kept.
    pub(crate) fn to_json(&self, is_kept: impl Fn(&str) -> bool) -> String {
        let kept = self.iter().filter(|(name, _)| is_kept(name));
        let written: Vec<_> =
            kept.map(|(name, value)| format!("{}:{}", serde_json::Value::from(name), value.get())).collect();
        format!("{{{}}}", written.join(","))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a member that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        text_of(self.get(name)?)
    }

    /// Removes a member that is a text, and returns it.
    pub(crate) fn take_text(&mut self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        self.remove(name);
        Some(text)
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(found, _)| found != name);
    }
}

/// Returns a value that is a text.
pub(crate) fn text_of(value: &RawValue) -> Option<String> {
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
    fn values_are_as_they_are_written_and_names_that_come_twice_are_seen() {
        let members = Members::read_unique(r#"{"b":1.10000000000000000001,"a":"x"}"#).unwrap();
        assert_eq!(members.get("b").unwrap().get(), "1.10000000000000000001");
        assert_eq!(members.text("a").as_deref(), Some("x"));
        assert_eq!(members.to_json(|name| name == "b"), r#"{"b":1.10000000000000000001}"#);
        assert!(Members::read_unique(r#"{"command":"a","command":"b"}"#).is_none());
        assert!(Members::read_unique(r#"{"command":"a","\u0063ommand":"b"}"#).is_none());
        assert!(Members::read("[1]").is_err());
    }
}
