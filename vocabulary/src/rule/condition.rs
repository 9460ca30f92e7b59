//! Conditions of a rule on a call: globs, and values at places of the arguments.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::super::{BoundedList, BoundedText};
use super::{Glob, given};
use bitacora_formats::limits::MAX_JSON_NUMBER;

/// Alternatives of one condition.
pub const MAX_RULE_ALTERNATIVES: usize = 64;
/// Bytes of a text that an argument is to equal.
pub const MAX_EQUAL_TEXT_BYTES: usize = 1_024;

/// A JSON pointer (RFC 6901) into the arguments.
pub type PointerText = BoundedText<512>;

/// One value, or a list of alternatives, of which any will do. A list of one is the same as its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMany<T>(BoundedList<T, 1, MAX_RULE_ALTERNATIVES>);

/// A condition on one place of the arguments: exactly one of `glob`, `equals` and `absent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentCondition {
    /// The place.
    pub pointer: PointerText,
    /// Globs for the text there; in these `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Glob>")]
    pub glob: Option<OneOrMany<Glob>>,
    /// The very value there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "OneOrMany<Scalar>")]
    pub equals: Option<OneOrMany<Scalar>>,
    /// `true`: nothing may be there; `null` is something.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub absent: Option<bool>,
}

/// A JSON value that an argument may be compared with: no object, no list, and no number with a fraction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer of at most 2^53 either way.
    Integer(i64),
    /// A text of up to [`MAX_EQUAL_TEXT_BYTES`].
    Text(String),
}

impl<T> OneOrMany<T> {
    /// Any of these.
    #[must_use]
    pub const fn new(alternatives: BoundedList<T, 1, MAX_RULE_ALTERNATIVES>) -> Self {
        Self(alternatives)
    }

    /// The alternatives.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_slice() {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Alternatives(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        let many = BoundedList::<T, 1, MAX_RULE_ALTERNATIVES>::json_schema(generator);
        json_schema!({ "anyOf": [one, many] })
    }
}

/// Reads a list as alternatives and everything else as the only one.
struct Alternatives<T>(PhantomData<T>);

impl<T> Alternatives<T> {
    fn only<'de, E: Error>(value: impl IntoDeserializer<'de, E>) -> Result<OneOrMany<T>, E>
    where
        T: Deserialize<'de>,
    {
        let one = T::deserialize(value.into_deserializer())?;
        BoundedList::new(vec![one]).map(OneOrMany).map_err(E::custom)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Alternatives<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of alternatives")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Self::only(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Self::only(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Self::only(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Self::only(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Self::only(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        BoundedList::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany)
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Text(value) => serializer.serialize_str(value),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let bound = MAX_JSON_NUMBER.cast_signed();
        json_schema!({ "anyOf": [
            { "type": "null" },
            { "type": "boolean" },
            { "type": "integer", "minimum": -bound, "maximum": bound },
            { "type": "string", "maxLength": MAX_EQUAL_TEXT_BYTES },
        ] })
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, a bool, an integer or a text")
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Scalar, E> {
        i64::try_from(value).map_err(E::custom).and_then(|value| self.visit_i64(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Scalar, E> {
        if value.unsigned_abs() <= MAX_JSON_NUMBER {
            Ok(Scalar::Integer(value))
        } else {
            Err(E::custom("an integer past 2^53; compare it as a text"))
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Scalar, E> {
        if value.len() <= MAX_EQUAL_TEXT_BYTES {
            Ok(Scalar::Text(value.to_owned()))
        } else {
            Err(E::custom(format_args!("a text longer than {MAX_EQUAL_TEXT_BYTES} bytes; use a glob")))
        }
    }
}
