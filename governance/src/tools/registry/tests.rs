use serde_json::json;

use super::*;
use crate::tools::arguments::tests::document;

fn revoked(tool: &str) -> ToolRevoked {
    serde_json::from_value(json!({"tool": tool})).unwrap()
}

#[test]
fn each_change_counts_and_a_tool_keeps_the_revision_of_its_own() {
    let mut registry = Registry::default();
    registry.apply_registered(&document(json!({"tool": "b"}))).unwrap();
    registry.apply_registered(&document(json!({"tool": "a"}))).unwrap();
    registry.apply_changed(&document(json!({"tool": "b", "description": "other"}))).unwrap();
    assert_eq!(registry.revision(), 3);
    let revisions: Vec<u64> = registry.iter().map(|tool| tool.revision).collect();
    assert_eq!(revisions, [2, 3]);
    assert_eq!(registry.get("b", None).unwrap().document.description.as_str(), "other");
    registry.apply_revoked(&revoked("b")).unwrap();
    assert!(registry.get("b", None).is_none());
    // Registered anew it is another one: nothing compiled before it fits.
    registry.apply_registered(&document(json!({"tool": "b"}))).unwrap();
    assert_eq!((registry.revision(), registry.get("b", None).unwrap().revision), (5, 5));
}

#[test]
fn a_change_that_cannot_be_leaves_everything_as_it_was() {
    let mut registry = Registry::default();
    registry.apply_registered(&document(json!({"tool": "a"}))).unwrap();
    let before = registry.clone();
    let name = Name::new("a").unwrap();
    let again = registry.apply_registered(&document(json!({"tool": "a", "risk": "read"})));
    assert_eq!(again, Err(RegistryError::AlreadyRegistered(name)));
    assert!(registry.apply_changed(&document(json!({"tool": "b"}))).is_err());
    assert!(registry.apply_revoked(&revoked("b")).is_err());
    assert_eq!(registry, before);
}

#[test]
fn a_server_is_part_of_the_name() {
    let mut registry = Registry::default();
    registry.apply_registered(&document(json!({"tool": "a", "server": "s"}))).unwrap();
    assert!(registry.get("a", None).is_none() && registry.get("a", Some("t")).is_none());
    assert!(registry.get("a", Some("s")).is_some());
    assert!(registry.apply_revoked(&revoked("a")).is_err());
}

#[test]
fn there_is_a_bound_and_revoking_makes_room() {
    let mut registry = Registry::default();
    for number in 0..MAX_TOOLS {
        registry.apply_registered(&document(json!({"tool": format!("t{number}")}))).unwrap();
    }
    assert_eq!(registry.apply_registered(&document(json!({"tool": "x"}))), Err(RegistryError::TooManyTools));
    registry.apply_revoked(&revoked("t7")).unwrap();
    registry.apply_registered(&document(json!({"tool": "x"}))).unwrap();
    let large = json!({"description": "x".repeat(60_000)});
    let mut full = None;
    for number in 0..MAX_TOOLS {
        let document = document(json!({"tool": format!("t{number}"), "input_schema": large}));
        if let Err(error) = registry.apply_changed(&document) {
            full = Some((number, error));
            break;
        }
    }
    let bytes = MAX_REGISTRY_SCHEMA_BYTES;
    assert!(matches!(full, Some((7, RegistryError::NotRegistered(_)))), "{full:?}");
    for number in 8..MAX_TOOLS {
        let document = document(json!({"tool": format!("t{number}"), "input_schema": large}));
        if let Err(RegistryError::TooManyBytes { found }) = registry.apply_changed(&document) {
            assert!(found > bytes && number > 1_000);
            return;
        }
    }
    panic!("all schemas were kept");
}

#[test]
fn the_schemas_of_all_tools_are_as_large_together_as_they_may_be_and_no_larger() {
    let both = json!({"tool": "a", "input_schema": {"title": "in"}, "output_schema": {"title": "result"}});
    let large = document(both);
    let size = large.input_schema.as_str().len() + large.output_schema.as_ref().unwrap().as_str().len();
    let mut registry = Registry { schema_bytes: MAX_REGISTRY_SCHEMA_BYTES - size, ..Registry::default() };
    registry.apply_registered(&large).unwrap();
    assert_eq!(registry.schema_bytes, MAX_REGISTRY_SCHEMA_BYTES);
    registry.apply_changed(&large).unwrap();
    registry.apply_revoked(&revoked("a")).unwrap();
    registry.schema_bytes += 1;
    let found = MAX_REGISTRY_SCHEMA_BYTES + 1;
    assert_eq!(registry.apply_registered(&large), Err(RegistryError::TooManyBytes { found }));
}

#[test]
fn written_and_read_it_is_the_same() {
    let mut registry = Registry::default();
    for tool in ["b", "a", "c"] {
        registry.apply_registered(&document(json!({"tool": tool, "server": "s"}))).unwrap();
    }
    registry.apply_revoked(&serde_json::from_value(json!({"tool": "a", "server": "s"})).unwrap()).unwrap();
    let text = serde_json::to_string(&registry).unwrap();
    let read: Registry = serde_json::from_str(&text).unwrap();
    assert_eq!(read, registry);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
