//! An event as appends take it: CloudEvents 1.0 in JSON.

#![expect(clippy::indexing_slicing, reason = "the members of the object that is made here")]

use bitacora_formats::limits::{MAX_ATTRIBUTE_BYTES, MAX_EXTENSION_NAME_BYTES};
use serde_json::{Value, json};

use super::described::TEXT;

/// Bytes in base64, with padding.
pub(super) const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?$";

/// The schema of one event. The path of a stream says its subject already.
pub(super) fn cloud_event(names_stream: bool) -> Value {
    let text = json!({"type": "string", "pattern": TEXT, "maxLength": MAX_ATTRIBUTE_BYTES});
    let extension = format!("^(?!(data|subject)$)[a-z0-9]{{1,{MAX_EXTENSION_NAME_BYTES}}}$");
    let mut schema = json!({
        "type": "object",
        "description": "An event, as CloudEvents 1.0 writes it in JSON. Its data has to be what its type says (`/v1/schemas`).",
        "required": ["specversion", "id", "source", "type", "subject"],
        "properties": {
            "specversion": {"type": "string", "enum": ["1.0"]},
            "id": text,
            "source": {"type": "string", "format": "uri-reference", "minLength": 1, "maxLength": MAX_ATTRIBUTE_BYTES},
            "type": text,
            "subject": {"type": "string", "pattern": TEXT, "description": "The stream."},
            "time": {"type": "string", "format": "date-time"},
            "datacontenttype": {"type": "string", "enum": ["application/json"]},
            "dataschema": {"type": "string", "format": "uri"},
            "data": {"description": "Any JSON."},
            "data_base64": {"type": "string", "contentEncoding": "base64", "pattern": BASE64},
        },
        "patternProperties": {
            extension: {"anyOf": [text, {"type": "boolean"}, {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}]},
        },
        "additionalProperties": false,
        "not": {"required": ["data", "data_base64"]},
    });
    if !names_stream {
        schema["required"] = json!(["specversion", "id", "source", "type"]);
        if let Some(members) = schema["properties"].as_object_mut() {
            members.remove("subject");
        }
    }
    schema
}
