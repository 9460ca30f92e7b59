//! Places of arguments, and the values that a call has there.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The error in a JSON pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// It does not begin with `/`.
    #[error("a JSON pointer begins with `/`; write `/path` for the member `path`")]
    NoSlash,
    /// `~` without `0` or `1` behind it.
    #[error("`~` stands for nothing by itself; write `~0` for it, and `~1` for `/`")]
    Tilde,
    /// `-`, the place behind a list's last entry.
    #[error("`-` points behind the end of a list, where nothing ever is; name an entry's number")]
    BehindEnd,
}

/// The value of a call at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArgumentValue<'a> {
    Nothing,
    Null,
    Bool(bool),
    /// The number as it was written.
    Number(&'a str),
    Text(Cow<'a, str>),
    /// An object or a list.
    Compound,
    /// A name that stands there twice: readers differ.
    Unclear,
}

/// Every place that the rules of a policy look at, as a tree: one pass over the arguments finds all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct PlaceTree {
    nodes: Vec<Node>,
    count: usize,
}

#[derive(Debug, Clone, Default)]
struct Node {
    /// Nodes behind the steps from here.
    steps: BTreeMap<Box<str>, usize>,
    /// The place that ends here.
    place: Option<usize>,
}

impl PlaceTree {
    /// Returns the number of a place, which is added if it is new.
    pub(super) fn add(&mut self, pointer: &str) -> Result<usize, PointerError> {
        let steps = steps(pointer)?;
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0;
        for step in steps {
            let new = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { break };
            at = *node.steps.entry(step).or_insert(new);
            if at == new {
                self.nodes.push(Node::default());
            }
        }
        let Some(node) = self.nodes.get_mut(at) else { return Ok(0) };
        let place = *node.place.get_or_insert(self.count);
        self.count = self.count.max(place + 1);
        Ok(place)
    }

    /// Returns the value at each place, by its number; `None` if the arguments are not JSON.
    pub(super) fn find<'a>(&self, arguments: &'a [u8]) -> Option<Vec<ArgumentValue<'a>>> {
        let root: &RawValue = serde_json::from_slice(arguments).ok()?;
        let mut found = vec![ArgumentValue::Nothing; self.count];
        self.walk(0, root, &mut found)?;
        Some(found)
    }

    /// Notes the values at a node and below it. Goes no deeper than the longest pointer.
    fn walk<'a>(&self, at: usize, value: &'a RawValue, found: &mut [ArgumentValue<'a>]) -> Option<()> {
        let Some(node) = self.nodes.get(at) else { return Some(()) };
        let text = value.get();
        let is_compound = matches!(text.as_bytes().first(), Some(b'{' | b'['));
        if let Some(slot) = node.place.and_then(|place| found.get_mut(place)) {
            *slot = read(text)?;
        }
        if node.steps.is_empty() || !is_compound {
            return Some(());
        }
        let children = serde_json::Deserializer::from_str(text).deserialize_any(Children { node }).ok()?;
        for (index, (child, value)) in children.iter().enumerate() {
            if children.iter().take(index).any(|(before, _)| before == child) {
                self.mark_unclear(*child, found);
            } else {
                self.walk(*child, value, found)?;
            }
        }
        Some(())
    }

    /// Notes of a node and of all below it that readers differ about the values there.
    fn mark_unclear(&self, at: usize, found: &mut [ArgumentValue<'_>]) {
        let Some(node) = self.nodes.get(at) else { return };
        if let Some(slot) = node.place.and_then(|place| found.get_mut(place)) {
            *slot = ArgumentValue::Unclear;
        }
        node.steps.values().for_each(|child| self.mark_unclear(*child, found));
    }
}

/// Reads a scalar as it is, and an object or a list by its kind.
fn read(text: &str) -> Option<ArgumentValue<'_>> {
    Some(match text.as_bytes().first()? {
        b'{' | b'[' => ArgumentValue::Compound,
        b'"' => ArgumentValue::Text(serde_json::from_str::<BorrowedText<'_>>(text).ok()?.0),
        b'n' => ArgumentValue::Null,
        b't' => ArgumentValue::Bool(true),
        b'f' => ArgumentValue::Bool(false),
        _ => ArgumentValue::Number(text),
    })
}

/// A text that is borrowed where nothing in it is escaped.
#[derive(serde::Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the steps of an RFC 6901 pointer.
fn steps(pointer: &str) -> Result<Vec<Box<str>>, PointerError> {
    let steps = pointer.strip_prefix('/').ok_or(PointerError::NoSlash)?;
    steps.split('/').map(step).collect()
}

fn step(step: &str) -> Result<Box<str>, PointerError> {
    if step == "-" {
        return Err(PointerError::BehindEnd);
    }
    let mut name = String::with_capacity(step.len());
    let mut rest = step.chars();
    while let Some(character) = rest.next() {
        name.push(match character {
            '~' => match rest.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return Err(PointerError::Tilde),
            },
            plain => plain,
        });
    }
    Ok(name.into())
}

/// Reads an object's members or a list's entries that a node has steps for.
struct Children<'n> {
    node: &'n Node,
}

impl<'de> Visitor<'de> for Children<'_> {
    type Value = Vec<(usize, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut children = Vec::new();
        while let Some(BorrowedText(name)) = members.next_key()? {
            match self.node.steps.get(&*name) {
                Some(child) => children.push((*child, members.next_value()?)),
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(children)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut children = Vec::new();
        let mut index: usize = 0;
        // A step with leading zeros is the name of a member, never an entry's number: it is not written like one.
        while let Some(value) = entries.next_element::<&RawValue>()? {
            if let Some(child) = self.node.steps.get(index.to_string().as_str()) {
                children.push((*child, value));
            }
            index += 1;
        }
        Ok(children)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_find_what_rfc_6901_says() {
        let arguments = br#" {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "i\\j": 5, " ": 7, "m~n": 8, "n": null} "#;
        let table = [
            ("/foo", ArgumentValue::Compound),
            ("/foo/0", ArgumentValue::Text("bar".into())),
            ("/foo/1", ArgumentValue::Text("baz".into())),
            ("/foo/01", ArgumentValue::Nothing),
            ("/foo/2", ArgumentValue::Nothing),
            ("/", ArgumentValue::Number("0")),
            ("/a~1b", ArgumentValue::Number("1")),
            ("/c%d", ArgumentValue::Number("2")),
            ("/i\\j", ArgumentValue::Number("5")),
            ("/ ", ArgumentValue::Number("7")),
            ("/m~0n", ArgumentValue::Number("8")),
            ("/n", ArgumentValue::Null),
            ("/n/x", ArgumentValue::Nothing),
            ("/x", ArgumentValue::Nothing),
        ];
        let mut places = PlaceTree::default();
        let numbers: Vec<_> = table.iter().map(|(pointer, _)| places.add(pointer).unwrap()).collect();
        assert_eq!(places.add("/foo/1"), Ok(numbers[2]));
        let found = places.find(arguments).unwrap();
        for ((pointer, expected), number) in table.iter().zip(numbers) {
            assert_eq!(found[number], *expected, "{pointer}");
        }
    }

    #[test]
    fn a_name_that_stands_there_twice_is_unclear_also_where_it_is_escaped() {
        let mut places = PlaceTree::default();
        let (a, b) = (places.add("/a").unwrap(), places.add("/b/c").unwrap());
        let found = places.find(br#"{"a": 1, "b": {"c": 2}, "\u0061": 3, "b": {}}"#).unwrap();
        assert_eq!(found[a], ArgumentValue::Unclear);
        assert_eq!(found[b], ArgumentValue::Unclear);
    }

    #[test]
    fn what_is_no_json_has_no_places() {
        let mut places = PlaceTree::default();
        places.add("/a").unwrap();
        for bad in [&b""[..], b"{", b"{\"a\":}", b"\xff", b"{} {}"] {
            assert_eq!(places.find(bad), None);
        }
    }

    #[test]
    fn pointers_that_point_nowhere_are_refused() {
        for (pointer, error) in [
            ("a", PointerError::NoSlash),
            ("", PointerError::NoSlash),
            ("/a~", PointerError::Tilde),
            ("/a~2", PointerError::Tilde),
            ("/list/-", PointerError::BehindEnd),
        ] {
            assert_eq!(PlaceTree::default().add(pointer), Err(error), "{pointer}");
        }
    }
}
