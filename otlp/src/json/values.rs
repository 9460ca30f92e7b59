//! Attributes and their values in OTLP/JSON.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::scalars::{JsonDouble, JsonInt, JsonText};
use crate::value::{AnyValue, Attribute};

/// An attribute.
#[derive(Deserialize)]
pub(super) struct JsonAttribute<'a> {
    #[serde(borrow, default)]
    key: JsonText<'a>,
    #[serde(borrow, default)]
    value: JsonValue<'a>,
}

impl<'a> From<JsonAttribute<'a>> for Attribute<'a> {
    fn from(attribute: JsonAttribute<'a>) -> Self {
        Self { key: attribute.key.0, value: attribute.value.0 }
    }
}

/// A value: an object with one member that says its type.
#[derive(Default)]
pub(super) struct JsonValue<'a>(pub(super) AnyValue<'a>);

#[derive(Deserialize)]
struct JsonValues<'a> {
    #[serde(borrow, default)]
    values: Option<Vec<JsonValue<'a>>>,
}

#[derive(Deserialize)]
struct JsonMembers<'a> {
    #[serde(borrow, default)]
    values: Option<Vec<JsonAttribute<'a>>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(JsonValue)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = AnyValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a value")
    }

    fn visit_unit<E: Error>(self) -> Result<AnyValue<'de>, E> {
        Ok(AnyValue::Empty)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<AnyValue<'de>, A::Error> {
        let mut value = AnyValue::Empty;
        while let Some(name) = members.next_key::<JsonText<'de>>()? {
            let found = match &*name.0 {
                "stringValue" => {
                    members.next_value::<Option<JsonText<'de>>>()?.map(|text| AnyValue::Text(text.0))
                }
                "boolValue" => members.next_value::<Option<bool>>()?.map(AnyValue::Bool),
                "intValue" => members.next_value::<Option<JsonInt>>()?.map(int_value).transpose()?,
                "doubleValue" => {
                    members.next_value::<Option<JsonDouble>>()?.map(|double| AnyValue::Double(double.0))
                }
                "bytesValue" => members
                    .next_value::<Option<JsonText<'de>>>()?
                    .map(|text| bytes_value(&text))
                    .transpose()?,
                "arrayValue" => members.next_value::<Option<JsonValues<'de>>>()?.map(|list| {
                    AnyValue::List(list.values.unwrap_or_default().into_iter().map(|value| value.0).collect())
                }),
                "kvlistValue" => members.next_value::<Option<JsonMembers<'de>>>()?.map(|map| {
                    AnyValue::Map(map.values.unwrap_or_default().into_iter().map(Attribute::from).collect())
                }),
                _ => {
                    members.next_value::<IgnoredAny>()?;
                    None
                }
            };
            value = found.unwrap_or(value);
        }
        Ok(value)
    }
}

fn int_value<E: Error>(number: JsonInt) -> Result<AnyValue<'static>, E> {
    let number = i64::try_from(number.0).map_err(|_| E::custom("found a number of more than 64 bits"))?;
    Ok(AnyValue::Int(number))
}

fn bytes_value<'a, E: Error>(text: &JsonText<'a>) -> Result<AnyValue<'a>, E> {
    let bytes =
        STANDARD.decode(text.0.as_bytes()).map_err(|_| E::custom("found a value that is not base64"))?;
    Ok(AnyValue::Bytes(Cow::Owned(bytes)))
}
