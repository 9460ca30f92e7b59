//! JSON values that the vocabulary does not look into.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::MapOverflow;

/// Members of an object that is kept as it is. The event's size bounds their contents.
pub const MAX_OBJECT_MEMBERS: usize = 1_024;

/// An object of any members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct JsonObject(Map<String, Value>);

impl Deref for JsonObject {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl TryFrom<Map<String, Value>> for JsonObject {
    type Error = MapOverflow;

    fn try_from(members: Map<String, Value>) -> Result<Self, MapOverflow> {
        if members.len() > MAX_OBJECT_MEMBERS {
            return Err(MapOverflow { max: MAX_OBJECT_MEMBERS });
        }
        Ok(Self(members))
    }
}

impl From<JsonObject> for Map<String, Value> {
    fn from(object: JsonObject) -> Self {
        object.0
    }
}

impl JsonSchema for JsonObject {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "JsonObject".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "maxProperties": MAX_OBJECT_MEMBERS })
    }
}
