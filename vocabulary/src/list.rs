//! Lists with a bound on both sides.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// An error in the length of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{found} entries or more; between {min} and {max} are taken")]
pub struct ListError {
    /// Entries, counted up to the first that is too many.
    pub found: usize,
    /// The fewest.
    pub min: usize,
    /// The most.
    pub max: usize,
}

/// A list of `MIN` to `MAX` entries. One that is longer is refused at the first entry too many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BoundedList<T, const MIN: usize, const MAX: usize>(Vec<T>);

impl<T, const MIN: usize, const MAX: usize> BoundedList<T, MIN, MAX> {
    /// The list, if it can be taken.
    ///
    /// # Errors
    /// Too short or too long.
    pub fn new(entries: Vec<T>) -> Result<Self, ListError> {
        if (MIN..=MAX).contains(&entries.len()) {
            Ok(Self(entries))
        } else {
            Err(ListError { found: entries.len(), min: MIN, max: MAX })
        }
    }

    /// Its entries as a vector.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T, const MAX: usize> Default for BoundedList<T, 0, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MIN: usize, const MAX: usize> Deref for BoundedList<T, MIN, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'a, T, const MIN: usize, const MAX: usize> IntoIterator for &'a BoundedList<T, MIN, MAX> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de>
    for BoundedList<T, MIN, MAX>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_seq(Entries::<T, MAX>(PhantomData))
            .and_then(|list| Self::new(list).map_err(Error::custom))
    }
}

struct Entries<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Entries<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX} entries")
    }

    /// Reads on to the first entry too many, and no further.
    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            if list.len() == MAX {
                return Err(Error::custom(ListError { found: MAX + 1, min: 0, max: MAX }));
            }
            list.push(entry);
        }
        Ok(list)
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for BoundedList<T, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{}From{MIN}To{MAX}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        json_schema!({ "type": "array", "items": items, "minItems": MIN, "maxItems": MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type ShortList = BoundedList<u8, 1, 3>;

    #[test]
    fn a_list_is_taken_up_to_its_bounds() {
        for text in ["[1]", "[1,2,3]"] {
            let list: ShortList = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&list).unwrap(), text);
        }
        for text in ["[]", "[1,2,3,4]", "1", "null"] {
            assert!(serde_json::from_str::<ShortList>(text).is_err(), "{text}");
        }
    }
}
