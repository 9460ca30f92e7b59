//! The official SDKs of CloudEvents as clients: their default events mean the same in every mode.

use std::process::Command;

use serde_json::{Value, json};

use crate::service::TestService;

/// Requests that the JavaScript SDK has sent.
const RECORDED: [(&str, &[u8]); 5] = [
    ("js-1", include_bytes!("cloudevents/binary-json.http")),
    ("js-2", include_bytes!("cloudevents/binary-extension.http")),
    ("js-3", include_bytes!("cloudevents/binary-text.http")),
    ("js-4", include_bytes!("cloudevents/binary-bytes.http")),
    ("js-6", include_bytes!("cloudevents/structured-json.http")),
];
/// The client with the Python SDK.
const SEND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/cloudevents/send.py");
/// A Python that has what the client needs.
const PYTHON: &str = "BITACORA_PYTHON";

#[test]
fn what_the_javascript_sdk_sends_is_taken() {
    let service = TestService::start();
    let sent = |bytes: &[u8]| {
        let mut client = service.connect();
        client.send(bytes);
        client.answer()
    };
    let mut stored = Vec::new();
    for (id, request) in RECORDED {
        let answer = sent(request).expect(201).json();
        assert_eq!(answer["results"][0]["id"], id);
        assert_eq!(sent(request).expect(200).json()["results"][0]["status"], "duplicate", "{id}");
        let position = answer["first"].as_str().unwrap().to_owned();
        let event =
            service.get(&format!("/v1/ledgers/main/events/{position}")).expect(200).json()["event"].clone();
        assert_eq!((&event["source"], &event["type"]), (&json!("/agents/7"), &json!("x.file.written")));
        assert_eq!(
            (&event["subject"], &event["time"]),
            (&json!("session/42"), &json!("2026-11-20T10:11:12.000Z"))
        );
        stored.push(event);
    }
    assert_eq!(stored[0]["data"], json!({"path": "src/a.rs", "bytes": 812}));
    assert_eq!(stored[1]["data"], json!({"a": "\u{fc}"}));
    assert_eq!(
        (&stored[1]["run"], &stored[1]["dataschema"]),
        (&json!("r1"), &json!("https://example.com/s.json"))
    );
    assert_eq!(stored[2]["data"], json!("one \"line\", 100% of it"));
    assert_eq!(
        (&stored[3]["data_base64"], &stored[3]["datacontenttype"]),
        (&json!("AAH+/w=="), &json!("application/octet-stream"))
    );
    assert_eq!(stored[4]["data"], json!({"path": "src/a.rs"}));
}

#[test]
fn what_the_python_sdk_sends_means_the_same_in_both_modes() {
    let Some(python) = std::env::var_os(PYTHON) else {
        println!(
            "not run: {PYTHON} names no Python with the packages of tests/http/cloudevents/requirements.txt"
        );
        return;
    };
    let service = TestService::start();
    let url = format!("http://{}/v1/ledgers/main/events", service.address);
    let sent = Command::new(python).args([SEND, &url]).output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let pairs: Vec<Value> = String::from_utf8(sent.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(pairs.len(), 4);
    for pair in &pairs {
        let [mut binary, mut structured] = ["binary", "structured"].map(|mode| pair[mode].clone());
        assert_eq!(binary["subject"], "session/42 \u{fc} %", "{binary}");
        assert_eq!(binary["run"], "r 1");
        for event in [&mut binary, &mut structured] {
            event.as_object_mut().unwrap().remove("id").unwrap();
        }
        assert_eq!(binary, structured);
    }
}

#[test]
fn an_event_whose_attributes_are_in_headers_is_held_to_the_same_rules() {
    let service = TestService::start();
    let tip = service.tip();
    let post = |fields: &[(&str, &str)], body: &str| {
        let all = [
            ("ce-specversion", "1.0"),
            ("ce-id", "1"),
            ("ce-type", "x.a"),
            ("ce-source", "/a"),
            ("ce-subject", "s"),
        ];
        let kept = all.iter().filter(|(name, _)| !fields.iter().any(|(given, _)| given == name));
        let fields: Vec<_> =
            fields.iter().chain(kept).copied().filter(|(_, value)| !value.is_empty()).collect();
        service.request("POST", "/v1/ledgers/main/events", &fields, body.as_bytes())
    };
    let json = ("Content-Type", "application/json");
    post(&[json, ("ce-source", "a b")], "1").expect_problem(400, "bad-attribute");
    post(&[json, ("ce-specversion", "0.3")], "1").expect_problem(400, "bad-specversion");
    post(&[json, ("ce-id", "")], "1").expect_problem(400, "missing-attribute");
    post(&[json, ("ce-bad_name", "1")], "1").expect_problem(400, "bad-extension-name");
    post(&[json], "1,\"id\":\"2\"").expect_problem(400, "not-json");
    post(&[], "1").expect_problem(415, "unsupported-media-type");
    assert_eq!(service.tip(), tip);
    post(&[json], "{\"n\":1}").expect(201);
    post(&[], "").expect_problem(409, "id-reused");
}
