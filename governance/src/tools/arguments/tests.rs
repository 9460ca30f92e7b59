use bitacora_vocabulary::ToolDocument;
use serde_json::json;

use super::*;

const CWD: Option<&str> = Some("/home/dev/project");

/// Returns a tool with these members in the place of plain ones.
#[expect(clippy::needless_pass_by_value, reason = "a literal is handed in")]
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

#[expect(clippy::needless_pass_by_value, reason = "a literal is handed in")]
fn examined(tool: &CompiledTool, args: Value) -> ArgumentFindings {
    examine(tool, args.to_string().as_bytes(), CWD)
}

#[test]
fn a_plain_call_has_its_context_its_destination_and_its_digest() {
    let found = examined(&writer(), json!({"path": "src/api/users/a.rs", "content": "secret"}));
    assert_eq!(found.refusal, None);
    assert_eq!(found.context.as_str(), "src/api");
    assert_eq!(found.destinations[0].as_str(), "/home/dev/project/src/api/users/a.rs");
    let shown = format!("{found:?}");
    assert!(!shown.contains("secret"), "{shown}");
    // The content is not bound: the same path is the same action.
    let other = examined(&writer(), json!({"path": "src/api/users/a.rs", "content": "other"}));
    assert_eq!(found.action_digest, other.action_digest);
    let elsewhere = examined(&writer(), json!({"path": "src/api/users/b.rs", "content": "secret"}));
    assert_ne!(found.action_digest, elsewhere.action_digest);
}

#[test]
fn a_place_outside_and_a_path_that_leaves_are_told_apart() {
    let of = |path: &str| examined(&writer(), json!({"path": path}));
    let outside = of("/etc/passwd");
    assert_eq!(outside.refusal, Some(ArgumentsRefusal::DestinationOutside));
    assert_eq!((outside.context.as_str(), outside.destinations[0].as_str()), ("/etc", "/etc/passwd"));
    assert_eq!(of("../x").refusal, Some(ArgumentsRefusal::PathOutside));
    assert_eq!(of("/home/dev/project/../x").refusal, Some(ArgumentsRefusal::PathOutside));
    assert_eq!(of("a\nb").refusal, Some(ArgumentsRefusal::Invalid));
    assert_eq!(of("/home/dev/projects/x").refusal, Some(ArgumentsRefusal::DestinationOutside));
}

#[test]
fn violations_say_where_and_never_what() {
    let found = examined(&writer(), json!({"path": 7, "sk-secret-name": {"x": 1}, "content": []}));
    assert_eq!(found.refusal, Some(ArgumentsRefusal::Invalid));
    let text = format!("{found:?}");
    assert!(!text.contains("sk-secret"), "{text}");
    let places: Vec<(&str, &str)> =
        found.violations.iter().map(|one| (one.pointer.as_str(), one.keyword.as_str())).collect();
    assert!(
        places.contains(&("/path", "type")) && places.contains(&("", "additionalProperties")),
        "{places:?}"
    );
    let open = tool(json!({"input_schema": {"additionalProperties": {"type": "string"}}}));
    let found = examined(&open, json!({"sk-secret-name": 1}));
    assert_eq!(found.violations[0].pointer, "/*");
}

#[test]
fn violations_are_few_however_many_there_are() {
    let list = tool(json!({"input_schema": {"properties": {"list": {"items": {"type": "string"}}}}}));
    for count in [100, 300_000] {
        let found = examined(&list, json!({"list": vec![0; count]}));
        assert_eq!(found.refusal, Some(ArgumentsRefusal::Invalid));
        assert!((1..=MAX_VIOLATIONS).contains(&found.violations.len()), "{count}");
    }
}

#[test]
fn looking_takes_a_bounded_number_of_steps() {
    let choices: Vec<Value> = (0..1_000).map(|number| json!({"const": number})).collect();
    let slow = tool(json!({"input_schema": {"properties": {"list": {"items": {"anyOf": choices}}}}}));
    let found = examined(&slow, json!({"list": vec![-1; 100_000]}));
    assert_eq!(found.refusal, Some(ArgumentsRefusal::TooLarge));
}

#[test]
fn bytes_that_are_no_plain_json_are_refused_before_anything_is_read() {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    for args in [
        "",
        "{",
        "{\"path\":\"a\",\"path\":\"b\"}",
        "{\"path\":9007199254740993}",
        "\u{feff}{}",
        deep.as_str(),
    ] {
        let found = examine(&writer(), args.as_bytes(), CWD);
        assert_eq!(found.refusal, Some(ArgumentsRefusal::NotJson), "{args}");
        assert_eq!((found.context.as_str(), found.action_digest), (NO_CONTEXT, None));
    }
    assert_eq!(examine(&writer(), b"\xff", CWD).refusal, Some(ArgumentsRefusal::NotJson));
    assert_eq!(examined(&writer(), json!("a string")).refusal, Some(ArgumentsRefusal::Invalid));
}

#[test]
fn a_digest_alone_will_do_only_where_nothing_is_bound() {
    let digest = Sha256Text::of_digest(&[7; 32]);
    let found = examine_digest(&writer(), &digest);
    assert_eq!((found.refusal, found.action_digest), (Some(ArgumentsRefusal::DigestOnly), None));
    let plain = tool(json!({}));
    let found = examine_digest(&plain, &digest);
    assert_eq!((found.refusal, found.action_digest, found.opaque), (None, Some(digest.clone()), false));
    let shell = tool(json!({"context_from": {"pointer": "/command", "normaliser": "command"}}));
    assert!(examine_digest(&shell, &digest).opaque);
}

#[test]
fn a_context_can_be_left_out_and_is_then_what_the_registry_says() {
    let from = |absent: Value| json!({"context_from": absent});
    let dot = tool(from(json!({"pointer": "/path", "normaliser": "path", "when_absent": "."})));
    let left_out = examined(&dot, json!({}));
    assert_eq!(left_out.context.as_str(), ".");
    assert_eq!(left_out.destinations[0].as_str(), "/home/dev/project", "it reaches the folder that is meant");
    assert!(examined(&tool(json!({})), json!({})).destinations.is_empty());
    let none = tool(from(json!({"pointer": "/path", "normaliser": "path"})));
    assert_eq!(examined(&none, json!({})).context.as_str(), NO_CONTEXT);
    let number = examined(&none, json!({"path": 7}));
    assert_eq!((number.context.as_str(), number.refusal), (NO_CONTEXT, Some(ArgumentsRefusal::Invalid)));
}

#[test]
fn lists_of_hosts_are_each_looked_at() {
    let rule = json!([{"pointer": "/urls", "kind": "host", "globs": ["*.example.com"]}]);
    let fetch = tool(json!({"destinations": rule}));
    let found =
        examined(&fetch, json!({"urls": ["https://u:p@A.example.com/x?token=t", "https://b.example.com"]}));
    assert_eq!(found.refusal, None);
    let text = serde_json::to_string(&found.destinations).unwrap();
    assert_eq!(text, r#"["a.example.com","b.example.com"]"#);
    let evil = examined(&fetch, json!({"urls": ["https://a.example.com", "https://evil.example"]}));
    assert_eq!(evil.refusal, Some(ArgumentsRefusal::DestinationOutside));
    let many: Vec<String> =
        (0..=MAX_CALL_DESTINATIONS).map(|number| format!("h{number}.example.com")).collect();
    assert_eq!(examined(&fetch, json!({"urls": many})).refusal, Some(ArgumentsRefusal::TooLarge));
}

#[test]
fn long_places_are_cut_and_stay_different() {
    let long = |end: &str| format!("{}/{end}/a.rs", "x".repeat(400));
    let plain = tool(json!({"context_from": {"pointer": "/path", "normaliser": "path"}}));
    let (one, other) =
        (examined(&plain, json!({"path": long("a")})), examined(&plain, json!({"path": long("b")})));
    assert!(one.context.len() <= 256 && one.context != other.context);
    assert!(is_cut(&one.context) && is_cut(&one.destinations[0]));
    for whole in ["/home/dev/~x", &format!("/{}", "x".repeat(300)), &format!("~{}", "0".repeat(32))] {
        assert!(!is_cut(whole), "{whole}");
    }
}

#[test]
fn a_text_that_names_who_is_reached_is_a_place_as_it_is_written() {
    let rule = json!([{"pointer": "/to", "kind": "text", "globs": ["+34*", "team-[0-9]*"]}]);
    let send = tool(json!({"destinations": rule}));
    let of = |to: Value| examined(&send, json!({"to": to}));
    let found = of(json!(["+34600123456", "team-7"]));
    let places: Vec<&str> = found.destinations.iter().map(BoundedText::as_str).collect();
    assert_eq!((found.refusal, places), (None, vec!["+34600123456", "team-7"]));
    assert_eq!(found.reach.unwrap().uses, [None, None], "no file");
    for outside in ["+1600123456", "0034600", " +34600", "TEAM-7", "../team-7"] {
        assert_eq!(of(json!(outside)).refusal, Some(ArgumentsRefusal::DestinationOutside), "{outside}");
    }
    for bad in [json!(""), json!(34_600), json!(["+34600", null])] {
        assert_eq!(of(bad).refusal, Some(ArgumentsRefusal::Invalid));
    }
}

#[test]
fn arguments_that_fit_have_the_context_that_a_recording_of_them_has() {
    let from = |pointer: &str, normaliser: &str, absent: Value| {
        let mut context = json!({"pointer": pointer, "normaliser": normaliser});
        if absent.is_string() {
            context["when_absent"] = absent;
        }
        tool(json!({"context_from": context}))
    };
    let tools = [
        from("/path", "path", Value::Null),
        from("/path", "path", json!(".")),
        from("/command", "command", Value::Null),
        from("/url", "host", Value::Null),
        tool(json!({})),
    ];
    let mut fitting = 0;
    for args in [
        json!({"path": "src/api/users/a.rs"}),
        json!({"path": "/etc/passwd"}),
        json!({"path": "../x"}),
        json!({"command": "git status && rm -rf x"}),
        json!({"command": "$(which git) status"}),
        json!({"url": "https://Example.org/a"}),
        json!({"url": "not a host"}),
        json!({}),
    ] {
        for tool in &tools {
            let found = examined(tool, args.clone());
            let recorded = recorded_context(Some(tool), args.to_string().as_bytes(), CWD);
            if found.refusal.is_none() {
                fitting += 1;
                assert_eq!(found.context, recorded, "{args}");
            }
        }
    }
    assert!(fitting > 30, "{fitting}");
}
