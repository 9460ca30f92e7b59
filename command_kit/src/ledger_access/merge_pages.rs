//! The pages of a list, joined into one JSON document.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ledger_access::service::ServiceFailure;

/// The joined pages: each list whole, and all other members from the last page. Values stay as they came.
#[derive(Debug)]
pub struct MergedPages {
    /// The members that continue from page to page.
    lists: &'static [&'static str],
    members: Vec<(String, String)>,
}

impl MergedPages {
    /// Returns the join of no page yet.
    pub const fn new(lists: &'static [&'static str]) -> Self {
        Self { lists, members: Vec::new() }
    }

    /// Takes in the next page.
    pub fn take(&mut self, page: &str) -> Result<(), ServiceFailure> {
        let ObjectMembers(mut members) = serde_json::from_str(page).map_err(|_| ServiceFailure::Strange)?;
        for (name, value) in &mut members {
            if self.lists.contains(&name.as_str()) {
                *value = both(self.member(name).unwrap_or("[]"), value);
            }
        }
        self.members = members;
        Ok(())
    }

    /// Returns the joined value of this member.
    pub fn member(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| value.as_str())
    }

    /// Adds a member in the first place, if it has a value.
    pub fn prepend(&mut self, name: &str, value: Option<&str>) {
        self.members.splice(..0, value.map(|value| (name.to_owned(), value.to_owned())));
    }

    /// Adds a member in the last place, if it has a value.
    pub fn append(&mut self, name: &str, value: Option<&str>) {
        self.members.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }

    /// Returns all members as a document.
    pub fn to_json(&self) -> String {
        let members =
            self.members.iter().map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

/// Joins two arrays; a value that is no array is kept as it is.
fn both(first: &str, second: &str) -> String {
    let items = |array: &str| Some(array.strip_prefix('[')?.strip_suffix(']')?.trim().to_owned());
    match (items(first), items(second)) {
        (Some(first), Some(second)) => {
            let comma = if first.is_empty() || second.is_empty() { "" } else { "," };
            format!("[{first}{comma}{second}]")
        }
        _ => second.to_owned(),
    }
}

/// An object's members in their order.
struct ObjectMembers(Vec<(String, String)>);

impl<'de> Deserialize<'de> for ObjectMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = ObjectMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
            members.push((name, value.get().to_owned()));
        }
        Ok(ObjectMembers(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(lists: &'static [&'static str], pages: &[&str]) -> String {
        let mut merged = MergedPages::new(lists);
        pages.iter().for_each(|page| merged.take(page).unwrap());
        merged.to_json()
    }

    #[test]
    fn pages_are_one_document_with_the_whole_list() {
        let pages = [
            r#"{"as_of":"1","calls":[{"a":1e400},"x]"],"tags":[1],"next":"p"}"#,
            r#"{"as_of":"2","calls":[],"tags":[1],"next":"q"}"#,
            r#"{"as_of":"2","calls":[ 3 ],"tags":[1]}"#,
        ];
        assert_eq!(merged(&["calls"], &pages), r#"{"as_of":"2","calls":[{"a":1e400},"x]",3],"tags":[1]}"#);
    }

    #[test]
    fn one_page_is_as_it_came() {
        for page in [r#"{"limits":[],"buckets":[{"left":1}],"next":"n"}"#, "{}"] {
            assert_eq!(merged(&["limits", "buckets"], &[page]), page);
        }
    }

    #[test]
    fn what_is_no_page_is_not_joined() {
        for strange in ["[]", "7", ""] {
            assert!(matches!(MergedPages::new(&["calls"]).take(strange), Err(ServiceFailure::Strange)));
        }
    }
}
