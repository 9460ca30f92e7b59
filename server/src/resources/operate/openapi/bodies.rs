//! Bounds of bodies beyond the types of their members, for the OpenAPI document.
//! They are the shapes that events record, grammars, and members that go together.

#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without a member reads as null; only the document's own objects are written to, and a test makes them"
)]

use bitacora_formats::limits::MAX_REQUEST_EVENTS;
use bitacora_vocabulary::{TEXT_PATTERN, event_type};
use serde_json::{Map, Value, json};

use super::cloud_event::{BASE64, cloud_event};
use super::described::{LEDGER, LEDGER_TIMES, POSITION, TEXT, without_null};
use crate::limits::MAX_BATCH_REQUESTS;

/// A SHA-256 in hex.
const SHA256: &str = "^[0-9a-f]{64}$";
/// US dollars with up to six decimals, below a million.
const USD: &str = "^(0|[1-9][0-9]{0,5})(\\.[0-9]{1,6})?$";
/// A place in a call's arguments.
const JSON_POINTER: &str = "^(/([^~]|~[01])*)?$";
/// Members that hold prose.
const PROSE_MEMBERS: &[&str] = &["authority", "reason", "note", "text", "description", "tail"];
/// Shapes that bodies share with answers.
const SHARED: &[&str] = &["ContentValue", "SpendAnswer"];

/// Members of bodies that are recorded as they are sent: the body, its member, the type of event, and the place in that type's schema.
const RECORDED: &[(&str, &str, &str, &str)] = &[
    ("AnnotationRequest", "on", "annotation.added", "/properties/on"),
    ("AnnotationRequest", "tags", "annotation.added", "/properties/tags"),
    ("BreakerCloseRequest", "dimension", "breaker.closed", "/properties/dimension"),
    ("BreakerSettingsRequest", "cooldownS", "breaker.configured", "/properties/cooldown_s"),
    ("BreakerSettingsRequest", "dimension", "breaker.configured", "/properties/dimension"),
    ("BreakerSettingsRequest", "failureThreshold", "breaker.configured", "/properties/failure_threshold"),
    ("BreakerSettingsRequest", "recoveryProbes", "breaker.configured", "/properties/recovery_probes"),
    ("BreakerSettingsRequest", "window", "breaker.configured", "/properties/window"),
    ("BudgetRequest", "counted", "budget.configured", "/properties/counted"),
    ("BudgetRequest", "onExceed", "budget.configured", "/properties/on_exceed"),
    ("BudgetRequest", "period", "budget.configured", "/properties/period"),
    ("BudgetRequest", "scope", "budget.configured", "/properties/scope"),
    ("CheckpointSaveRequest", "channelVersions", "checkpoint.saved", "/properties/channel_versions"),
    ("CheckpointSaveRequest", "source", "checkpoint.saved", "/properties/source"),
    ("CheckpointSaveRequest", "step", "checkpoint.saved", "/properties/step"),
    ("DecideRequest", "blastRadius", "tool.registered", "/properties/blast_radius"),
    ("DecideRequest", "deadlineMs", "tool.requested", "/properties/deadline_ms"),
    ("GrantRequest", "scope", "grant.given", "/properties/scope"),
    ("HoldRequest", "first", "hold.placed", "/properties/scope/properties/first"),
    ("HoldRequest", "last", "hold.placed", "/properties/scope/properties/last"),
    ("ModeRequest", "mode", "mode.configured", "/properties/mode"),
    ("ModeRequest", "scope", "mode.configured", "/properties/scope"),
    ("OutcomeRequest", "artifacts", "tool.completed", "/properties/artifacts"),
    ("OutcomeRequest", "durationMs", "tool.completed", "/properties/duration_ms"),
    ("OutcomeRequest", "exitCode", "tool.completed", "/properties/exit_code"),
    ("PolicyRequest", "bounds", "policy.published", "/properties/bounds"),
    ("PolicyRequest", "exit_codes_count", "policy.published", "/properties/exit_codes_count"),
    ("PolicyRequest", "files", "policy.published", "/properties/files"),
    ("PolicyRequest", "key_life_s", "policy.published", "/properties/key_life_s"),
    ("PolicyRequest", "rules", "policy.published", "/properties/rules"),
    ("PolicyRequest", "times", "policy.published", "/properties/times"),
    ("PolicyRequest", "trust", "policy.published", "/properties/trust"),
    ("PolicyRequest", "unregistered", "policy.published", "/properties/unregistered"),
    ("PolicyRequest", "workspaces", "policy.published", "/properties/workspaces"),
    ("RateRequest", "limit", "rate.configured", "/properties/limit"),
    ("RateRequest", "rolling", "rate.configured", "/properties/rolling"),
    ("RateRequest", "scope", "rate.configured", "/properties/scope"),
    ("RetentionRequest", "rules", "retention.changed", "/properties/rules"),
    (
        "SuggestionAnswerRequest",
        "cwd",
        "policy.published",
        "/properties/rules/items/properties/match/properties/cwd",
    ),
    ("TrustProbeRequest", "dimension", "trust.probed", "/properties/dimension"),
    ("TrustSetRequest", "counts", "trust.set", "/properties/counts"),
    ("TrustSetRequest", "dimension", "trust.set", "/properties/dimension"),
];

/// Bodies of acts that the router knows as one path.
const OF_ACTS: &[(&str, &str)] = &[
    ("copyThread", "CheckpointCopyRequest"),
    ("forkThread", "CheckpointForkRequest"),
    ("saveCheckpointWrites", "CheckpointWritesRequest"),
];

/// Completes the schemas of bodies: no member but these, none of them `null`, each of the shape that it is held to.
pub(super) fn close(schemas: &mut Map<String, Value>) {
    for (name, schema) in schemas.iter_mut() {
        if name.ends_with("Request") || name == "LedgerCreation" || SHARED.contains(&&**name) {
            close_one(name, schema);
        }
    }
    for (body, member, kind, place) in RECORDED {
        let Some(shape) = event_type(kind).and_then(|kind| recorded(&kind.schema(), place, schemas)) else {
            continue;
        };
        let described = &mut schemas[*body]["properties"][*member];
        let description = described["description"].take();
        *described = shape;
        if !description.is_null() {
            described["description"] = description;
        }
    }
    if let Some(tool) = event_type("tool.registered").and_then(|kind| recorded(&kind.schema(), "", schemas)) {
        schemas.insert("ToolRequest".to_owned(), tool);
    }
    let note =
        json!({"type": "string", "minLength": 1, "pattern": TEXT_PATTERN, "description": "In your words."});
    let with_note = json!({"type": "object", "properties": {"note": note}, "additionalProperties": false});
    schemas.insert("NoteRequest".to_owned(), with_note);
    schemas.insert("CloudEvent".to_owned(), cloud_event(true));
    schemas.insert("CloudEventOfStream".to_owned(), cloud_event(false));
    given_content(schemas);
    go_together(schemas);
}

fn close_one(name: &str, schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (member, of) in members.iter_mut() {
        without_null(of);
        bound(name, member, of);
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
}

/// Says what a member may be.
fn bound(body: &str, member: &str, of: &mut Value) {
    let pattern = match (body, member) {
        ("LedgerCreation", "name") | ("SealRequest" | "ReadOnlyRequest", "ledger") => LEDGER,
        ("PolicyRequest" | "ContentRequest", "digest") | (_, "argsDigest" | "actionDigest") => SHA256,
        ("PolicyRequest", "version" | "parent") => POSITION,
        (_, "estimate" | "costUsd") => USD,
        ("GrantRequest" | "TrustProbeRequest", "expires") => {
            of["format"] = json!("date-time");
            of["pattern"] = json!(LEDGER_TIMES);
            return;
        }
        ("OutcomeRequest", "status") => {
            of["enum"] = json!(["ok", "error", "timeout", "interrupted", "rejected", "blocked"]);
            return;
        }
        (_, prose) if PROSE_MEMBERS.contains(&prose) => TEXT_PATTERN,
        _ => TEXT,
    };
    let texts = if of["type"] == "array" { &mut of["items"] } else { of };
    if texts["type"] == "string" && texts.get("enum").is_none() {
        texts["pattern"] = json!(pattern);
        texts["minLength"] = json!(1);
    }
}

/// Contents as requests give them: they are answered in more ways.
fn given_content(schemas: &mut Map<String, Value>) {
    let Some(all) = schemas.get("ContentValue").map(|content| content["properties"].clone()) else { return };
    let one = |needed: &[&str], members: &[&str]| {
        let members: Map<String, Value> =
            members.iter().map(|member| ((*member).to_owned(), all[*member].clone())).collect();
        json!({"type": "object", "required": needed, "properties": members, "additionalProperties": false})
    };
    let mut ways = [
        one(&["base64"], &["base64", "encoding"]),
        one(&["json"], &["json"]),
        one(&["pieces", "bytes"], &["pieces", "bytes", "encoding"]),
    ];
    ways[0]["properties"]["base64"]["pattern"] = json!(BASE64);
    ways[2]["properties"]["pieces"]["items"]["pattern"] = json!(SHA256);
    schemas.insert("GivenContent".to_owned(), json!({"oneOf": ways}));
    let given = json!({"$ref": "#/components/schemas/GivenContent"});
    schemas["CheckpointSaveRequest"]["properties"]["values"]["additionalProperties"] = given.clone();
    schemas["CheckpointWriteRequest"]["properties"]["value"] = given;
}

/// Gives an operation the body that it takes, where its handler's description does not say it.
pub(super) fn complete(operation: &str, described: &mut Map<String, Value>) {
    let Some(content) = described.get_mut("requestBody").map(|body| &mut body["content"]) else { return };
    let own = OF_ACTS.iter().find(|(of, _)| *of == operation);
    let event = if operation == "append" { "CloudEvent" } else { "CloudEventOfStream" };
    let event = json!({"$ref": format!("#/components/schemas/{event}")});
    match operation {
        "append" | "appendToStream" => {
            for of_one in ["application/cloudevents+json", "application/json"] {
                content[of_one]["schema"] = event.clone();
            }
            content["application/cloudevents-batch+json"]["schema"] =
                json!({"type": "array", "items": event, "minItems": 1, "maxItems": MAX_REQUEST_EVENTS});
        }
        "storeContent" => {
            content["application/octet-stream"]["schema"] = json!({"type": "string", "format": "binary"});
        }
        "putTool" => {
            content["application/json"]["schema"] = json!({"$ref": "#/components/schemas/ToolRequest"});
        }
        "acceptImport" => {
            content["application/json"]["schema"] = json!({"$ref": "#/components/schemas/NoteRequest"});
        }
        "approveRequest" | "rejectRequest" | "withdrawRequest" | "rejectSuggestion" => {
            content["application/json"]["schema"] = json!({"$ref": "#/components/schemas/NoteRequest"});
        }
        "editRequest" => {
            let body = json!({"$ref": "#/components/schemas/ResolutionRequest"});
            let needs = json!({"anyOf": [{"required": ["args"]}, {"required": ["actionDigest"]}]});
            content["application/json"]["schema"] = json!({"allOf": [body, needs]});
        }
        _ => {
            if let Some((_, body)) = own {
                let reference = format!("#/components/schemas/{body}");
                content["application/json"]["schema"] = json!({"$ref": reference});
            }
        }
    }
}

/// Says which members need, or exclude, each other.
fn go_together(schemas: &mut Map<String, Value>) {
    if let Some(resolution) = schemas.get_mut("ResolutionRequest") {
        resolution["not"] = json!({"required": ["args", "actionDigest"]});
        let of_a_folder = json!({"anyOf": [{"required": ["args"]}, {"required": ["actionDigest"]}]});
        resolution["dependentSchemas"] = json!({"cwd": of_a_folder});
    }
    if let Some(decide) = schemas.get_mut("DecideRequest") {
        decide["oneOf"] = json!([{"required": ["args"]}, {"required": ["argsDigest"]}]);
    }
    if let Some(batch) = schemas.get_mut("DecideBatchRequest") {
        batch["properties"]["requests"]["minItems"] = json!(1);
        batch["properties"]["requests"]["maxItems"] = json!(MAX_BATCH_REQUESTS);
    }
    if let Some(grant) = schemas.get_mut("GrantRequest") {
        let scope = grant["properties"]["scope"].take();
        let named = json!({"required": ["agent", "workspace", "context"]});
        grant["properties"]["scope"] = json!({"allOf": [scope, named]});
    }
    if let Some(save) = schemas.get_mut("CheckpointSaveRequest") {
        let step = save["properties"]["step"].clone();
        let source = save["properties"]["source"].clone();
        save["properties"]["metadata"]["properties"] = json!({"step": step, "source": source});
        let within =
            json!({"required": ["metadata"], "properties": {"metadata": {"required": ["step", "source"]}}});
        save["anyOf"] = json!([{"required": ["step", "source"]}, within]);
        save["dependentRequired"] = json!({"writes": ["parent"]});
    }
    if let Some(budget) = schemas.get_mut("BudgetRequest") {
        budget["dependentRequired"] = json!({"limits": ["period", "onExceed"]});
    }
}

/// The shape at a place of an event's schema. Shapes that it names are put beside the document's own schemas.
fn recorded(schema: &Value, place: &str, schemas: &mut Map<String, Value>) -> Option<Value> {
    let mut shape = schema;
    for step in place.split('/').skip(1) {
        if let Some(named) = named_by(shape) {
            shape = &schema["$defs"][named];
        }
        shape = shape.get(step)?;
    }
    let mut shape = shape.clone();
    if let Some(members) = shape.as_object_mut() {
        for of_the_whole in ["$defs", "$schema", "$id", "title"] {
            members.remove(of_the_whole);
        }
    }
    without_null(&mut shape);
    hoist(&mut shape, schema, schemas);
    Some(shape)
}

/// Has references point to the document's schemas, and puts those there that they name.
fn hoist(shape: &mut Value, schema: &Value, schemas: &mut Map<String, Value>) {
    if let Some(named) = named_by(shape).map(str::to_owned) {
        shape["$ref"] = json!(format!("#/components/schemas/{named}"));
        if !schemas.contains_key(&named) {
            let mut definition = schema["$defs"][&named].clone();
            schemas.insert(named.clone(), Value::Null);
            hoist(&mut definition, schema, schemas);
            schemas.insert(named, definition);
        }
        return;
    }
    if let Some(members) = shape.get("properties").and_then(Value::as_object) {
        let has_pointer = members.contains_key("pointer");
        // Governance refuses members that it does not know.
        if shape.get("additionalProperties").is_none() {
            shape["additionalProperties"] = json!(false);
        }
        if has_pointer {
            shape["properties"]["pointer"]["pattern"] = json!(JSON_POINTER);
        }
    }
    match shape {
        Value::Object(members) => members.values_mut().for_each(|inner| hoist(inner, schema, schemas)),
        Value::Array(elements) => elements.iter_mut().for_each(|inner| hoist(inner, schema, schemas)),
        _ => (),
    }
}

fn named_by(shape: &Value) -> Option<&str> {
    shape["$ref"].as_str()?.strip_prefix("#/$defs/")
}

#[cfg(test)]
mod tests {
    use bitacora_vocabulary::EventType;

    use super::*;

    #[test]
    fn every_member_that_is_recorded_has_the_shape_of_its_event() {
        for (body, member, kind, place) in RECORDED {
            let schema = event_type(kind).map(EventType::schema).unwrap_or_default();
            assert!(recorded(&schema, place, &mut Map::new()).is_some(), "{body}, {member}: {kind} {place}");
        }
    }
}
