//! Maps with a bound: a larger one is refused as soon as the bound is passed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::Name;

/// Values under at most `MAX` names, in the order of the names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BoundedMap<T, const MAX: usize>(BTreeMap<Name, T>);

/// There are more than are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {max} members; at most that many are taken")]
pub struct MapOverflow {
    /// The bound.
    pub max: usize,
}

impl<T, const MAX: usize> BoundedMap<T, MAX> {
    /// The map, if it is not too large.
    ///
    /// # Errors
    /// More than `MAX` names.
    pub fn new(map: BTreeMap<Name, T>) -> Result<Self, MapOverflow> {
        if map.len() > MAX {
            return Err(MapOverflow { max: MAX });
        }
        Ok(Self(map))
    }
}

impl<T, const MAX: usize> Deref for BoundedMap<T, MAX> {
    type Target = BTreeMap<Name, T>;

    fn deref(&self) -> &BTreeMap<Name, T> {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedMap<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

struct MapVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for MapVisitor<T, MAX> {
    type Value = BoundedMap<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of at most {MAX} members")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((name, value)) = members.next_entry()? {
            if map.len() >= MAX {
                return Err(A::Error::custom(MapOverflow { max: MAX }));
            }
            map.insert(name, value);
        }
        Ok(BoundedMap(map))
    }
}

impl<T: JsonSchema, const MAX: usize> JsonSchema for BoundedMap<T, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("MapOf{MAX}{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": generator.subschema_for::<Name>(),
            "additionalProperties": generator.subschema_for::<T>(),
            "maxProperties": MAX,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_many_is_refused_and_the_last_that_fits_is_not() {
        let map = |text: &str| serde_json::from_str::<BoundedMap<u8, 2>>(text);
        assert_eq!(map(r#"{"b":1,"a":2}"#).unwrap().len(), 2);
        assert!(map(r#"{"b":1,"a":2,"c":3}"#).unwrap_err().to_string().starts_with("more than 2"));
        assert!(map(r#"{"":1}"#).is_err(), "a name has a character");
        let one = BTreeMap::from([(Name::new("a").unwrap(), 1)]);
        assert_eq!(BoundedMap::<u8, 0>::new(one.clone()), Err(MapOverflow { max: 0 }));
        assert_eq!(*BoundedMap::<u8, 1>::new(one.clone()).unwrap(), one);
    }
}
