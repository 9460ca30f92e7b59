//! JSON objects of a bundle: members in their order, none of which is there twice.

use std::fmt;

use bitacora_formats::plain_number;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The most members of an object that is read.
const MAX_MEMBERS: usize = 32;

/// The members of an object.
pub(super) struct JsonObject<'a>(Vec<(String, &'a RawValue)>);

impl<'a> JsonObject<'a> {
    /// Reads an object.
    pub(super) fn read(json: &'a str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| format!("found no such JSON object: {error}"))
    }

    /// Returns the names in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the value of a member as it is written.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.get())
    }

    /// Returns a member that is a text.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        self.value(name, "a text")
    }

    /// Returns a member that is a number in decimal digits, as a text.
    pub(super) fn decimal(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name)?;
        plain_number(&text).ok_or_else(|| format!("found {text:?} in {name}, expected a decimal number"))
    }

    /// Returns a member that serde reads.
    pub(super) fn value<T: Deserialize<'a>>(&self, name: &str, expected: &str) -> Result<T, String> {
        let json = self.get(name).ok_or_else(|| format!("found no {name}"))?;
        serde_json::from_str(json).map_err(|_| format!("found no {expected} in {name}"))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = JsonObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(String, &'de RawValue)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, _>()? {
            if members.len() >= MAX_MEMBERS {
                return Err(A::Error::custom(format!("more than {MAX_MEMBERS} members")));
            }
            if members.iter().any(|(found, _)| *found == name) {
                return Err(A::Error::custom("a member that is there twice"));
            }
            members.push((name, value));
        }
        Ok(JsonObject(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_in_order_and_none_is_there_twice() {
        let object = JsonObject::read(r#"{"b":"7","a":"07"}"#).ok().unwrap();
        assert!(object.names().eq(["b", "a"]));
        assert_eq!(object.decimal("b"), Ok(7));
        assert!(object.decimal("a").is_err() && object.text("c").is_err());
        for refused in [r#"{"a":1,"\u0061":2}"#, "[]", "{}{}", "", r#"{"a":"\ud800"}"#] {
            let read = JsonObject::read(refused).and_then(|object| object.text("a"));
            assert!(read.is_err(), "{refused}");
        }
        let many: Vec<_> = (0..=MAX_MEMBERS).map(|number| format!("\"{number}\":0")).collect();
        assert!(JsonObject::read(&format!("{{{}}}", many.join(","))).is_err());
    }
}
