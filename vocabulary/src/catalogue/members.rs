//! Members that a type does not know, found while its data is read.

use std::cell::RefCell;

use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

/// Differences up to which two names count as alike.
const MAX_DIFFERENCES: usize = 3;
/// Bytes of names that are compared. Every member of the vocabulary has a shorter one.
const MAX_COMPARED_BYTES: usize = 64;

/// The first member that is not known: its name, and the known one that is most like it.
#[derive(Default)]
pub(super) struct UnknownMember(RefCell<Option<(String, Option<&'static str>)>>);

impl UnknownMember {
    /// Returns the problem with the member, if there is one.
    pub(super) fn problem(&self) -> Option<String> {
        let noted = self.0.borrow();
        let (name, nearest) = noted.as_ref()?;
        let remedy = match nearest {
            Some(nearest) => format!("use `{nearest}`, or leave it out"),
            None => "leave it out".to_owned(),
        };
        let end = name.floor_char_boundary(MAX_COMPARED_BYTES);
        let (name, cut) = (name.get(..end).unwrap_or_default(), if end < name.len() { "…" } else { "" });
        Some(format!("`{name}{cut}` is no member of this type; {remedy}"))
    }
}

/// The members that an object may have.
#[derive(Clone, Copy)]
pub(super) struct Names<'w> {
    pub(super) known: &'static [&'static str],
    pub(super) unknown: &'w UnknownMember,
}

impl Names<'_> {
    /// Fails for a name that is not known, and notes it.
    pub(super) fn check<E: Error>(self, name: &str) -> Result<(), E> {
        if self.known.contains(&name) {
            return Ok(());
        }
        *self.unknown.0.borrow_mut() = Some((name.to_owned(), nearest(name, self.known)));
        Err(E::unknown_field(name, self.known))
    }
}

/// Reads a member's name only where it is known.
pub(super) struct KeySeed<'w, S> {
    pub(super) seed: S,
    pub(super) names: Names<'w>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(Key { inner: name, names: self.names })
    }
}

struct Key<'w, T> {
    inner: T,
    names: Names<'w>,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Key<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_str(Key { inner: visitor, names: self.names })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Key<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        self.names.check(name)?;
        self.inner.visit_str(name)
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<V::Value, E> {
        self.names.check(name)?;
        self.inner.visit_borrowed_str(name)
    }

    fn visit_string<E: Error>(self, name: String) -> Result<V::Value, E> {
        self.names.check(&name)?;
        self.inner.visit_string(name)
    }
}

/// Returns the known name that is most like another one, if any is.
fn nearest(name: &str, known: &'static [&'static str]) -> Option<&'static str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    // `deadlineMs` is `deadline_ms`: case and joints count for nothing.
    let plain = |text: &str| -> Vec<u8> {
        let letters = text.bytes().filter(|byte| !b"_-. ".contains(byte));
        letters.map(|byte| byte.to_ascii_lowercase()).collect()
    };
    let name = plain(name);
    let distances = known.iter().map(|known| (differences(&name, &plain(known)), *known));
    let (found, nearest) = distances.min_by_key(|(found, _)| *found)?;
    // Half of a short name may be another one.
    (found <= MAX_DIFFERENCES && found * 2 <= nearest.len()).then_some(nearest)
}

/// Counts the letters that are to be changed, added, taken away or swapped with their neighbour to make one text of the other.
fn differences(one: &[u8], other: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut next = vec![at + 1];
        for (column, beside) in other.iter().enumerate() {
            let get = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX - 1);
            let changed = get(&row, column) + usize::from(letter != beside);
            let swapped = match (at.checked_sub(1), column.checked_sub(1)) {
                (Some(above), Some(left))
                    if one.get(above) == Some(beside) && other.get(left) == Some(letter) =>
                {
                    get(&before, left) + 1
                }
                _ => usize::MAX,
            };
            next.push(changed.min(get(&row, column + 1) + 1).min(get(&next, column) + 1).min(swapped));
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_name_is_found_and_none_where_none_is() {
        const KNOWN: &[&str] = &["agent", "tool", "context", "deadline_ms", "on_exceed", "by"];
        for (name, expected) in [
            ("agnet", Some("agent")),
            ("agents", Some("agent")),
            ("Tool", Some("tool")),
            ("deadlineMs", Some("deadline_ms")),
            ("on-exceed", Some("on_exceed")),
            ("onExeed", Some("on_exceed")),
            ("cntxt", Some("context")),
            ("zz", None),
            ("something_else", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, KNOWN), expected, "{name}");
        }
        assert_eq!(nearest(&"a".repeat(1_000_000), KNOWN), None);
        assert_eq!(nearest("agent", &[]), None);
    }

    #[test]
    fn differences_are_counted_as_people_count_them() {
        for (one, other, expected) in
            [("", "", 0), ("", "abc", 3), ("abc", "acb", 1), ("abcd", "abxd", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(differences(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
            assert_eq!(differences(other.as_bytes(), one.as_bytes()), expected, "{other} {one}");
        }
    }
}
