//! JSON objects of a bundle: members in their order, none of which is there twice.

use std::collections::HashSet;
use std::fmt;

use bitacora_formats::plain_number;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The most members of an object that is read.
const MAX_MEMBERS: usize = 32;
/// The most objects and lists within one another: an event, and the deepest data that a ledger takes.
const MAX_DEPTH: usize = 65;

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

/// Checks that a text is JSON without a member that is in an object twice, at any depth.
pub(super) fn check_unique(json: &str) -> Result<(), String> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let read = UniqueMembers { depth_left: MAX_DEPTH }.deserialize(&mut deserializer);
    read.and_then(|()| deserializer.end()).map_err(|error| format!("found no such JSON: {error}"))
}

/// The visitor of a value whose objects have no member twice.
#[derive(Clone, Copy)]
struct UniqueMembers {
    depth_left: usize,
}

impl UniqueMembers {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let depth_left = self.depth_left.checked_sub(1);
        let inner = depth_left.map(|depth_left| Self { depth_left });
        inner.ok_or_else(|| E::custom(format!("nested deeper than {MAX_DEPTH}")))
    }
}

impl<'de> DeserializeSeed<'de> for UniqueMembers {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueMembers {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while list.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a member that is there twice"));
            }
            map.next_value_seed(inner)?;
        }
        Ok(())
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

    #[test]
    fn no_object_at_any_depth_has_a_member_twice() {
        let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for taken in [r#"{"a":[{"b":1.5,"c":null},{"b":-1,"c":"x"}],"b":true}"#, &lists(MAX_DEPTH)] {
            assert_eq!(check_unique(taken), Ok(()), "{taken}");
        }
        let number = "9".repeat(400);
        for refused in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":[{"b":1,"\u0062":2}]}"#,
            r#"["\ud800"]"#,
            "[NaN]",
            "[1e999]",
            &number,
            "{} {}",
            &lists(MAX_DEPTH + 1),
            "",
        ] {
            assert!(check_unique(refused).is_err(), "{refused}");
        }
    }
}
