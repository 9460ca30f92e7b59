use bitacora_formats::vocabulary::ToolDocument;
use serde_json::json;

use super::*;

const CWD: Option<&str> = Some("/home/dev/project");

/// A tool with these members in the place of plain ones.
pub(crate) fn document(changes: Value) -> ToolDocument {
    let mut document = json!({
        "tool": "fs.write", "version": "1", "description": "writes", "input_schema": {"type": "object"},
        "risk": "write", "blast_radius": "low", "requires_review": false, "allowed_roles": ["agent"],
        "timeout_ms": 1_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": [],
    });
    for (member, value) in changes.as_object().unwrap() {
        document[member] = value.clone();
    }
    serde_json::from_value(document).unwrap()
}

fn tool(changes: Value) -> CompiledTool {
    CompiledTool::new(&document(changes)).unwrap()
}

fn writer() -> CompiledTool {
    tool(json!({
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false,
        },
        "context_from": {"pointer": "/path", "normaliser": "path"},
        "binding_fields": ["/path"],
        "destinations": [{"pointer": "/path", "kind": "path", "globs": ["/home/dev/project/**"]}],
    }))
}

fn examined(tool: &CompiledTool, args: Value) -> Examined {
    examine(tool, args.to_string().as_bytes(), CWD)
}

#[test]
fn a_plain_call_has_its_context_its_destination_and_its_digest() {
    let found = examined(&writer(), json!({"path": "src/api/users/a.rs", "content": "secret"}));
    assert_eq!(found.refusal, None);
    assert_eq!(found.context.as_str(), "src/api");
    assert_eq!(found.destinations[0].as_str(), "/home/dev/project/src/api/users/a.rs");
    let shown = serde_json::to_string(&found).unwrap();
    assert!(!shown.contains("secret"), "{shown}");
    // The content is not bound: the same path is the same action.
    let other = examined(&writer(), json!({"path": "src/api/users/a.rs", "content": "other"}));
    assert_eq!(found.action_digest, other.action_digest);
    let elsewhere = examined(&writer(), json!({"path": "src/api/users/b.rs", "content": "secret"}));
    assert_ne!(found.action_digest, elsewhere.action_digest);
}
