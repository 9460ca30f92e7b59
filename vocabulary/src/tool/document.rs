//! JSON Schemas as texts.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::MAX_RETRIES;
use bitacora_formats::check_json;

/// Bytes of one JSON Schema.
pub const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// An error in the text of a JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Longer than its limit.
    #[error("a schema of {found} bytes; at most {MAX_SCHEMA_BYTES} are taken")]
    TooLong {
        /// Bytes.
        found: usize,
    },
    /// Not JSON that every reader understands alike.
    #[error("a schema that is no JSON: {0}")]
    Json(String),
    /// Neither an object nor a boolean.
    #[error("a schema is an object, `true` or `false`")]
    Form,
}

/// A JSON Schema as the text it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaText(String);

impl SchemaText {
    /// Takes the schema, if it is JSON and short enough. Only its compilation shows whether it can be used.
    ///
    /// # Errors
    /// A [`SchemaError`] for any other text.
    pub fn new(text: impl Into<String>) -> Result<Self, SchemaError> {
        let text = text.into();
        if text.len() > MAX_SCHEMA_BYTES {
            return Err(SchemaError::TooLong { found: text.len() });
        }
        check_json(text.as_bytes()).map_err(|error| SchemaError::Json(error.to_string()))?;
        if !matches!(text.trim_start().as_bytes().first(), Some(b'{' | b't' | b'f')) {
            return Err(SchemaError::Form);
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for SchemaText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SchemaText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Self::new(String::from(Box::<str>::from(value))).map_err(D::Error::custom)
    }
}

impl JsonSchema for SchemaText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "JsonSchema".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["object", "boolean"], "description": "a JSON Schema" })
    }
}

/// A number of tries.
pub(super) fn at_most_retries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = u32::deserialize(deserializer)?;
    if number > MAX_RETRIES {
        return Err(D::Error::custom(format!("{number} retries; at most {MAX_RETRIES} are taken")));
    }
    Ok(number)
}
