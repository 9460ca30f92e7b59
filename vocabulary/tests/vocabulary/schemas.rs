//! Schemas are valid of their draft and carry their names.

use bitacora_vocabulary::{EVENT_TYPES, EventWriter};

#[test]
fn each_is_a_schema_of_its_draft_under_its_own_name() {
    for listed in EVENT_TYPES {
        let schema = listed.schema();
        assert!(jsonschema::meta::is_valid(&schema), "{}", listed.kind);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let id = format!("urn:bitacora:schema:{}:{}", listed.kind, listed.version);
        assert_eq!((&schema["$id"], &schema["title"]), (&id.into(), &listed.kind.into()));
        assert!(schema["type"] == "object" || schema["$ref"].is_string(), "{}", listed.kind);
    }
}

#[test]
fn every_text_list_and_number_has_a_bound() {
    // The reactor, which derives events from events, keeps to bounds of its own.
    for listed in EVENT_TYPES.iter().filter(|listed| listed.writer != EventWriter::Reactor) {
        let schema = listed.schema();
        let mut unbounded = Vec::new();
        walk(&schema, "", &mut unbounded);
        assert!(unbounded.is_empty(), "{}: {unbounded:?}", listed.kind);
    }
}

fn walk(schema: &serde_json::Value, at: &str, unbounded: &mut Vec<String>) {
    if let Some(members) = schema.as_object() {
        let is = |kind: &str| match members.get("type") {
            Some(serde_json::Value::String(found)) => found == kind,
            Some(serde_json::Value::Array(found)) => found.iter().any(|found| found == kind),
            _ => false,
        };
        let has = |name: &str| members.contains_key(name);
        let is_open = (is("string")
            && !["maxLength", "pattern", "enum", "const"].iter().any(|name| has(name)))
            || (is("array") && !has("maxItems"))
            || (is("integer") && !has("maximum"))
            || is("number")
            // A schema within a schema is bounded as a text.
            || (is("object") && !is("boolean") && !has("properties") && !has("maxProperties"));
        // An object that says nothing of its members is `ledger.writable`.
        if is_open && !at.is_empty() {
            unbounded.push(at.to_owned());
        }
        for (name, member) in members.iter().filter(|(name, _)| *name != "const" && *name != "enum") {
            walk(member, &format!("{at}/{name}"), unbounded);
        }
    }
    for (index, element) in schema.as_array().into_iter().flatten().enumerate() {
        walk(element, &format!("{at}/{index}"), unbounded);
    }
}
