//! The interface as committed is the interface as served.

use serde_json::{Value, json};

use crate::service::TestService;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let service = TestService::start();
    let served = service.get("/v1/openapi.json").expect(200);
    if std::env::var_os("BITACORA_WRITE_OPENAPI").is_some() {
        std::fs::write(COMMITTED, &served.body).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap();
    assert!(
        served.text() == committed,
        "docs/openapi.json is out of date; run this test with BITACORA_WRITE_OPENAPI=1 and commit what it writes"
    );
    let document = served.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut ids = std::collections::BTreeSet::new();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    for operation in operations {
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id), "{id} names two operations");
        assert!(
            operation["summary"].as_str().is_some_and(|summary| summary.len() <= 60),
            "{id} has no summary"
        );
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let json = &parameter["content"]["application/json"];
            let schema = if json.is_null() { &parameter["schema"] } else { &json["schema"] };
            assert!(schema["type"].is_string(), "{id}: {parameter} may be null, or anything");
        }
    }
    bodies_are_closed_and_bounded(&document);
    assert!(ids.contains("approveRequest") && ids.contains("suspendAgent"));
    for (path, operations) in document["paths"].as_object().unwrap() {
        let target = path
            .replace("{ledger}", "main")
            .replace("{stream}", "s")
            .replace("{position}", "1")
            .replace("{approval}", "a1")
            .replace("{tool}", "t")
            .replace("{version}", "1")
            .replace("{grant}", "g1")
            .replace("{hold}", "case-7")
            .replace("{agent}", "coder")
            .replace("{import}", "0")
            .replace("{call}", "c1")
            .replace("{suggestion}", "s1")
            .replace("{run}", "r1")
            .replace("{session}", "s1")
            .replace("{contract}", "edit")
            .replace("{thread}", "t1")
            .replace("{projection}", "calls")
            .replace("{harness}", "claude")
            .replace("{verification}", "v1")
            .replace("{tile}", "0/000")
            .replace("{type}", "run.step");
        let answer = service.request("PATCH", &target, &[], b"");
        assert_eq!(answer.status, 405, "{path} is described but not routed");
        // A parameter that nobody describes is refused before anything is done, on every path and by every method.
        for method in operations.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            // No parameter reads its state before the query is looked at.
            let answer = service.request(&method, &format!("{target}?faill_if=1"), &[], b"");
            if is_export(path) {
                assert!(answer.expect(400).text().contains("bad-query"), "{method} {path}");
                continue;
            }
            let problem = answer.expect_problem(400, "bad-query");
            assert_eq!(problem["errors"][0]["parameter"], "faill_if", "{method} {path}");
        }
    }
}

/// Returns `true` if errors at a path are in the words of OTLP.
pub(crate) fn is_export(path: &str) -> bool {
    ["/v1/traces", "/v1/logs", "/v1/metrics"].iter().any(|end| path.ends_with(end))
}

/// Every object in a body says which members there are, and every text what it may be.
fn bodies_are_closed_and_bounded(document: &Value) {
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
    for (_, operation) in operations {
        let content = &operation["requestBody"]["content"];
        for (kind, body) in
            content.as_object().into_iter().flatten().filter(|(kind, _)| kind.contains("json"))
        {
            if kind != "application/x-ndjson" {
                let place = format!("{}, {kind}", operation["operationId"]);
                is_bounded(document, &body["schema"], &place, &mut Vec::new());
            }
        }
    }
}

fn is_bounded(document: &Value, schema: &Value, place: &str, above: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        if above.iter().any(|known| known == name) {
            return;
        }
        above.push(name.to_owned());
        let named = document.pointer(&name[1..]).unwrap_or_else(|| panic!("{place}: {name} is not there"));
        is_bounded(document, named, place, above);
        above.pop();
        return;
    }
    if schema["type"] == "string" || schema["type"] == json!(["string", "null"]) {
        let bounds = ["pattern", "enum", "const", "format", "maxLength"];
        assert!(bounds.iter().any(|bound| !schema[bound].is_null()), "{place}: any text");
    }
    for (member, inner) in schema["properties"].as_object().into_iter().flatten() {
        is_bounded(document, inner, &format!("{place}/{member}"), above);
        // The content of a tool's arguments, a state or its metadata is nobody's but the caller's.
        assert!(
            !schema["additionalProperties"].is_null() || member == "step" || member == "source",
            "{place} is open"
        );
    }
    for inner in ["oneOf", "anyOf", "allOf"].iter().flat_map(|of| schema[of].as_array().into_iter().flatten())
    {
        if inner.get("required").is_none() || inner.get("type").is_some() {
            is_bounded(document, inner, place, above);
        }
    }
    for inner in ["items", "additionalProperties"].map(|of| &schema[of]) {
        if inner.is_object() {
            is_bounded(document, inner, place, above);
        }
    }
}
