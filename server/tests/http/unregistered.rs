//! Tools that calls named and nobody registered: listed page by page until they are registered.
//! Tools that cannot be registered are tested too.

use serde_json::{Value, json};

use crate::governed::{ask, governed, put};
use crate::service::TestService;

fn seen(service: &TestService, query: &str) -> Value {
    service.get(&format!("/v1/ledgers/main/unregistered-tools{query}")).expect(200).json()
}

fn named(page: &Value) -> Vec<(&str, Option<&str>, Option<&str>, u64)> {
    let tools = page["tools"].as_array().unwrap().iter();
    tools
        .map(|one| {
            (
                one["tool"].as_str().unwrap(),
                one["server"].as_str(),
                one["agent"].as_str(),
                one["calls"].as_u64().unwrap(),
            )
        })
        .collect()
}

fn tool(name: &str, schema: &Value) -> Value {
    json!({
        "tool": name, "version": "1", "description": "a tool", "input_schema": schema, "risk": "write", "blast_radius": "low",
        "requires_review": false, "allowed_roles": ["agent"], "timeout_ms": 60_000, "retry": {"max": 0, "backoff_ms": 0},
        "idempotency": "none", "binding_fields": []
    })
}

#[test]
fn tools_that_calls_named_are_listed_until_they_are_registered() {
    let service = governed("allow");
    assert_eq!(seen(&service, ""), json!({"tools": []}));
    let call = |call: &str, tool: &str, server: Option<&str>, agent: Option<&str>| {
        let request = json!({"call": call, "tool": tool, "server": server, "agent": agent, "args": {}});
        let members = request.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        ask(&service, Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect()))
    };
    let first = call("c1", "search", Some("web"), Some("ana"));
    let last = call("c2", "search", Some("web"), Some("ana"));
    call("c3", "search", None, Some("ben"));
    call("c4", "other", None, None);
    call("c5", "fs.write", None, Some("ana"));
    let all = seen(&service, "");
    let mut expected = vec![("search", Some("web"), Some("ana"), 2), ("search", None, Some("ben"), 1)];
    let mut found = named(&all);
    found.retain(|one| one.0 != "other");
    assert_eq!(found, expected, "{all}");
    assert_eq!(named(&all).len(), 3, "who is registered is not listed: {all}");
    let ana = all["tools"].as_array().unwrap().iter().find(|one| one["server"] == "web").unwrap();
    assert_eq!((&ana["first"], &ana["last"]), (&first["position"], &last["position"]));
    assert!(ana["lastTime"].as_str().unwrap().ends_with('Z'), "{ana}");

    let (mut after, mut paged) = (String::new(), Vec::new());
    loop {
        let page = seen(&service, &format!("?limit=1{after}"));
        paged.extend(page["tools"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(json!(paged), all["tools"]);

    put(&service, "tools/search", &tool("search", &json!({"type": "object"}))).expect(201);
    expected.pop();
    let mut found = seen(&service, "");
    found["tools"].as_array_mut().unwrap().retain(|one| one["tool"] != "other");
    assert_eq!(named(&found), expected, "the one of a server is another tool");
    service.get("/v1/ledgers/main/unregistered-tools?limit=0").expect_problem(400, "bad-query");
    service.get("/v1/ledgers/main/unregistered-tools?after=x").expect_problem(400, "bad-query");
    service.get("/v1/ledgers/main/unregistered-tools?agent=ana").expect_problem(400, "bad-query");
}

#[test]
fn a_misspelt_keyword_is_refused_when_a_tool_is_registered_or_changed() {
    let service = TestService::start();
    let misspelt = json!({"type": "object", "properties": {"path": {"type": "string", "maxLenght": 5}}});
    let refused = put(&service, "tools/a", &tool("a", &misspelt)).expect_problem(422, "schema");
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("`maxLenght` in `/properties/path`") && detail.contains("`maxLength` is"),
        "{detail}"
    );
    put(&service, "tools/a", &tool("a", &json!({"type": "object", "x-order": 1}))).expect(201);
    put(&service, "tools/a", &tool("a", &json!({"type": "object", "requird": ["path"]})))
        .expect_problem(422, "schema");
    let listed = service.get("/v1/ledgers/main/tools").expect(200).json();
    assert_eq!(listed["tools"][0]["document"]["input_schema"], json!({"type": "object", "x-order": 1}));
}
