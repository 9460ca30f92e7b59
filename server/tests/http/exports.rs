//! Exports of OpenTelemetry: what real exporters send, and what no exporter should.

use std::io::Write;

use serde_json::{Value, json};

use crate::governed::governed;
use crate::identities::{append, ask, guard, hash, token};
use crate::service::{ServiceAnswer, TestService, head};

pub(crate) const PROTOBUF: &str = "application/x-protobuf";
pub(crate) const JSON: &str = "application/json";
/// Recorded exports: the path, the content type, the body, and the types of the events that it becomes.
const RECORDED: [(&str, &str, &[u8], &[&str]); 8] = [
    ("traces", PROTOBUF, include_bytes!("otlp/python-traces.pb"), &["agent", "model", "model", "tool"]),
    ("logs", PROTOBUF, include_bytes!("otlp/python-logs.pb"), &["decision", "tool"]),
    ("traces", PROTOBUF, include_bytes!("otlp/js-traces.pb"), &["tool"]),
    ("logs", PROTOBUF, include_bytes!("otlp/js-logs.pb"), &["tool"]),
    ("traces", JSON, include_bytes!("otlp/js-traces.json"), &["tool"]),
    ("logs", JSON, include_bytes!("otlp/js-logs.json"), &["tool"]),
    ("logs", PROTOBUF, include_bytes!("otlp/claude-logs.pb"), &["event", "model", "tool"]),
    ("logs", JSON, include_bytes!("otlp/claude-logs.json"), &["event", "model", "tool"]),
];

pub(crate) fn export(service: &TestService, signal: &str, content_type: &str, body: &[u8]) -> ServiceAnswer {
    service.post(&format!("/v1/{signal}"), content_type, body)
}

/// Every event of a range, the oldest first.
pub(crate) fn events_after(service: &TestService, position: u64) -> Vec<Value> {
    let page =
        service.get(&format!("/v1/ledgers/main/events?after={position}&limit=1000")).expect(200).json();
    page["events"].as_array().unwrap().iter().map(|event| event["event"].clone()).collect()
}

/// A field of protobuf that holds bytes.
pub(crate) fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7f {
        out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap());
    out.extend_from_slice(bytes);
    out
}

pub(crate) fn text_value(text: &str) -> Vec<u8> {
    field(1, text.as_bytes())
}

pub(crate) fn attribute(number: u8, key: &str, value: &[u8]) -> Vec<u8> {
    field(number, &[field(1, key.as_bytes()), field(2, value)].concat())
}

/// A span of a tool with this id, and whatever else is given.
pub(crate) fn span(id: u64, more: &[u8]) -> Vec<u8> {
    let ids = [field(1, &[7; 16]), field(2, &id.to_be_bytes())].concat();
    let operation = attribute(9, "gen_ai.operation.name", &text_value("execute_tool"));
    field(2, &[ids, field(5, b"execute_tool x"), operation, more.to_vec()].concat())
}

pub(crate) fn request(spans: &[Vec<u8>]) -> Vec<u8> {
    field(1, &field(2, &spans.concat()))
}

/// A `Status` in protobuf: its code and its message.
pub(crate) fn status(body: &[u8]) -> (u8, String) {
    assert_eq!((body[0], body[2]), (0x08, 0x12), "{body:?}");
    let text = if body[3] < 0x80 { &body[4..] } else { &body[5..] };
    (body[1], String::from_utf8(text.to_vec()).unwrap())
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_exporters_send_is_recorded_once() {
    let service = governed("allow");
    let mut expected: Vec<&str> = Vec::new();
    let before = service.tip();
    for (signal, content_type, body, kinds) in RECORDED {
        let from = service.tip();
        for _ in 0..2 {
            let answer = export(&service, signal, content_type, body).expect(200);
            assert_eq!(answer.header("content-type"), Some(content_type));
            assert_eq!(answer.body, if content_type == JSON { &b"{}"[..] } else { b"" });
        }
        let mut found: Vec<_> = events_after(&service, from)
            .iter()
            .map(|event| event["type"].as_str().unwrap().trim_start_matches("telemetry.").to_owned())
            .collect();
        found.sort();
        assert_eq!(found, kinds, "{signal} {content_type}");
        expected.extend(kinds);
    }
    let recorded = events_after(&service, before);
    assert_eq!(recorded.len(), expected.len(), "nothing follows from telemetry");
    for event in &recorded {
        assert_eq!(event["data"]["assurance"], "self_reported", "{event}");
        assert!(event["source"].as_str().unwrap().starts_with("urn:bitacora:otlp:"), "{event}");
    }
    let service = service.restarted();
    let tip = service.tip();
    for (signal, content_type, body, _) in RECORDED {
        export(&service, signal, content_type, body).expect(200);
    }
    let again: Vec<_> = events_after(&service, tip);
    assert!(
        again.iter().all(|event| !event["type"].as_str().unwrap().starts_with("telemetry.")),
        "{again:?}"
    );
}

#[test]
fn what_claude_code_tells_is_read_by_its_meaning() {
    let service = TestService::start();
    let from = service.tip();
    let (_, _, body, _) = RECORDED[7];
    export(&service, "logs", JSON, body).expect(200);
    let recorded = events_after(&service, from);
    let of = |kind: &str| recorded.iter().find(|event| event["type"] == kind).unwrap();
    let tool = of("telemetry.tool");
    assert_eq!(
        (&tool["data"]["tool"], &tool["data"]["status"], &tool["data"]["duration_ms"]),
        (&json!("Bash"), &json!("ok"), &json!(280))
    );
    assert_eq!(tool["call"], tool["data"]["call"], "the id that hooks name");
    let session = tool["session"].as_str().unwrap();
    assert_eq!(tool["subject"], format!("telemetry/{session}"));
    assert_eq!(tool["time"], "2026-11-27T05:33:00.142000Z");
    let model = &of("telemetry.model")["data"];
    assert_eq!(model["tokens"], json!({"in": 10, "out": 20, "cache_read": 3, "cache_write": 2}));
    assert_eq!((&model["model"], &model["cost_micro_usd"]), (&json!("claude-opus-4-8"), &json!(564)));
    assert_eq!(of("telemetry.event")["data"]["name"], "claude_code.assistant_response");
}

#[test]
fn a_malformed_export_leaves_nothing_behind() {
    let service = TestService::start();
    let tip = service.tip();
    let (_, _, traces, _) = RECORDED[0];
    for end in [1, 2, 3, 40, 400, traces.len() / 2, traces.len() - 1] {
        let answer = export(&service, "traces", PROTOBUF, &traces[..end]).expect(400);
        assert_eq!(answer.header("content-type"), Some(PROTOBUF));
        let (code, message) = status(&answer.body);
        assert!(code == 3 && message.starts_with("bad-body: "), "{message}");
    }
    let (_, _, logs, _) = RECORDED[7];
    for end in [1, 20, logs.len() / 2, logs.len() - 1] {
        let answer = export(&service, "logs", JSON, &logs[..end]).expect(400);
        assert_eq!((answer.header("content-type"), &answer.json()["code"]), (Some(JSON), &json!(3)));
    }
    let bad_text = request(&[span(1, b""), span(2, &field(5, b"\xff"))]);
    let (_, message) = status(&export(&service, "traces", PROTOBUF, &bad_text).expect(400).body);
    assert!(message.contains("UTF-8"), "{message}");
    for body in [
        "[]",
        "{} {}",
        "\u{1}",
        r#"{"resourceSpans":{}}"#,
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":7}]}]}]}"#,
    ] {
        export(&service, "traces", JSON, body.as_bytes()).expect(400);
    }
    export(&service, "traces", JSON, &vec![b'['; 100_000]).expect(400);
    let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(2_000), "]".repeat(2_000));
    export(&service, "traces", JSON, deep.as_bytes()).expect(400);
    let answer = service.post("/v1/traces", "text/plain", "x").expect(415);
    assert_eq!((answer.header("content-type"), &answer.json()["code"]), (Some(JSON), &json!(3)));
    for content_type in [PROTOBUF, JSON] {
        let headers = [("Content-Type", content_type), ("Content-Encoding", "gzip")];
        service.request("POST", "/v1/traces", &headers, b"no gzip").expect(400);
        service.request("POST", "/v1/traces", &headers, &gzip(traces)[..30]).expect(400);
    }
    assert_eq!(service.tip(), tip);
    // Fields that nobody knows, an empty request, and compressed ones are good.
    export(&service, "traces", PROTOBUF, b"").expect(200);
    export(&service, "traces", JSON, br#"{"new":[{"x":null}],"resourceSpans":null}"#).expect(200);
    assert_eq!(service.tip(), tip);
    let headers = [("Content-Type", PROTOBUF), ("Content-Encoding", "gzip")];
    service.request("POST", "/v1/traces", &headers, include_bytes!("otlp/python-traces.pb.gz")).expect(200);
    assert_eq!(service.tip(), tip + 4);
}

#[test]
fn a_record_with_a_fault_is_rejected_and_the_others_are_kept() {
    let service = TestService::start();
    let tip = service.tip();
    let mut nested = text_value("x");
    for _ in 0..200 {
        nested = field(5, &field(1, &nested));
    }
    let many: Vec<u8> = (0..513).flat_map(|n| attribute(9, &format!("k{n}"), &text_value("v"))).collect();
    let values: Vec<u8> = (0..5_000).flat_map(|_| field(1, &text_value(""))).collect();
    let wide: Vec<u8> =
        (0..20).flat_map(|n| attribute(9, &format!("k{n}"), &text_value(&"x".repeat(15_000)))).collect();
    let no_ids = field(2, &field(5, b"execute_tool x"));
    let zeros = field(2, &[field(1, &[0; 16]), field(2, &[1; 8])].concat());
    let spans = [
        span(1, b""),
        no_ids,
        zeros,
        span(2, &attribute(9, "a", &nested)),
        span(3, &many),
        span(4, &attribute(9, "a", &field(5, &values))),
        span(5, &wide),
        span(6, &attribute(9, "a", &text_value(&"x".repeat(10_000_000)))),
    ];
    let answer = export(&service, "traces", PROTOBUF, &request(&spans)).expect(200);
    assert_eq!(answer.body[3..5], [0x08, 6], "six are rejected");
    let message = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(message.contains("2 rejected: no valid trace id and span id"), "{message}");
    assert!(message.contains("nested deeper than 16"), "{message}");
    let kept = events_after(&service, tip);
    assert_eq!(kept.len(), 2);
    let long = &kept[1]["data"]["attributes"]["a"];
    assert_eq!(
        (&long["bytes"], &long["sha256"]),
        (&json!(10_000_000), &json!(hash(&"x".repeat(10_000_000))))
    );

    let json = json!({"resourceSpans": [{"scopeSpans": [{"spans": [
        {"name": "execute_tool x"},
        {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "execute_tool y",
         "attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": "y"}}]},
    ]}]}]});
    let answer = export(&service, "traces", JSON, json.to_string().as_bytes()).expect(200).json();
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "1", "{answer}");
    assert_eq!(service.tip(), tip + 3);
}

#[test]
fn of_two_spans_with_one_id_the_first_stays() {
    let service = TestService::start();
    let tip = service.tip();
    let first = span(1, &attribute(9, "n", &text_value("first")));
    let second = span(1, &attribute(9, "n", &text_value("second")));
    let others: Vec<_> = (2..40).map(|id| span(id, b"")).collect();
    export(&service, "traces", PROTOBUF, &request(std::slice::from_ref(&first))).expect(200);
    let all = [vec![second.clone(), second], others].concat();
    assert_eq!(export(&service, "traces", PROTOBUF, &request(&all)).expect(200).body, b"");
    let kept = events_after(&service, tip);
    assert_eq!(kept.len(), 39);
    assert_eq!(kept[0]["data"]["attributes"]["n"], "first");
    let metrics = service.get("/metrics").expect(200).text().to_owned();
    assert!(metrics.contains("bitacora_otlp_records_total{outcome=\"duplicate\"} 2"), "{metrics}");
}

#[test]
fn a_request_of_many_spans_is_taken_and_a_bomb_is_not() {
    let service = TestService::start();
    let tip = service.tip();
    let spans: Vec<_> = (1..=20_000).map(|id| span(id, b"")).collect();
    export(&service, "traces", PROTOBUF, &request(&spans)).expect(200);
    assert_eq!(service.tip(), tip + 20_000);
    // Spans that tell nothing about an agent are skipped, however many they are.
    let ids = [field(1, &[7; 16]), field(2, &[1; 8])].concat();
    let skipped = request(&vec![field(2, &ids); 200_000]);
    let headers = [("Content-Type", PROTOBUF), ("Content-Encoding", "gzip")];
    service.request("POST", "/v1/traces", &headers, &gzip(&skipped)).expect(200);
    let bomb = gzip(&vec![0; 65 << 20]);
    let (code, message) = status(&service.request("POST", "/v1/traces", &headers, &bomb).expect(413).body);
    assert!(code == 8 && message.contains("67108864 bytes"), "{message}");
    let mut client = service.connect();
    let announced = head("POST", "/v1/logs", &[("Content-Type", JSON)], Some((64 << 20) + 1));
    client.send(announced.as_bytes());
    assert_eq!(client.answer().expect(413).json()["code"], 8);
    assert_eq!(service.tip(), tip + 20_000);
}

#[test]
fn metrics_are_taken_and_dropped() {
    let service = TestService::start();
    let tip = service.tip();
    let answer = export(&service, "metrics", JSON, include_bytes!("otlp/claude-metrics.json")).expect(200);
    assert_eq!(answer.json(), json!({}));
    assert_eq!(export(&service, "metrics", PROTOBUF, b"anything").expect(200).body, b"");
    export(&service, "metrics", "text/plain", b"").expect(415);
    assert_eq!(service.tip(), tip);
}

#[test]
fn a_ledger_that_takes_no_appends_has_exporters_come_again() {
    let service = TestService::start();
    let read_only = |on: bool| {
        let body = json!({"ledger": "main", "readOnly": on}).to_string();
        service.post("/v1/admin/read-only", JSON, body).expect(202);
    };
    read_only(true);
    let (signal, content_type, body, _) = RECORDED[0];
    let mut answer = export(&service, signal, content_type, body);
    for _ in 0..200 {
        if answer.status == 503 {
            break;
        }
        answer = export(&service, signal, content_type, &request(&[span(service.tip(), b"")]));
    }
    let answer = answer.expect(503);
    assert!(answer.header("retry-after").is_some());
    assert_eq!(status(&answer.body).0, 14);
}

#[test]
fn the_token_decides_who_writes_where() {
    let service = TestService::start();
    guard(&service);
    let body = String::from_utf8(RECORDED[4].2.to_vec()).unwrap();
    let send =
        |target: &str, name: Option<&str>| ask(&service, "POST", target, name.map(token).as_deref(), &body);
    let refused = send("/v1/traces", None).expect(401);
    assert_eq!(
        (refused.json()["code"].as_u64(), refused.header("www-authenticate").is_some()),
        (Some(16), true)
    );
    assert_eq!(send("/v1/traces", Some("auditor")).expect(403).json()["code"], 7);
    assert_eq!(send("/v1/ledgers/main/otlp/v1/traces", Some("auditor")).expect(403).json()["code"], 7);
    send("/v1/traces", Some("agent")).expect(200);
    let page =
        ask(&service, "GET", "/v1/ledgers/main/events?type=telemetry.tool", Some(&token("auditor")), "");
    let page = page.expect(200).json();
    let event = &page["events"][0]["event"];
    let actor = format!("agent:{}", &hash(&token("agent"))[..12]);
    assert_eq!((&event["agent"], &event["actor"]), (&json!("coder"), &json!(actor)));
    assert_eq!(event["source"], format!("urn:bitacora:otlp:{}", actor.replace(':', "%3A")));

    // A client cannot take such an identity by other ways, and may not claim another certainty.
    let forged = json!({"specversion": "1.0", "id": "1", "source": event["source"], "type": "telemetry.tool",
        "subject": "s", "data": event["data"]});
    append(&service, &token("agent"), &forged).expect_problem(403, "forbidden");
    let mut own = forged;
    own["source"] = json!("/me");
    append(&service, &token("agent"), &own).expect(201);
    (own["id"], own["data"]["assurance"]) = (json!("2"), json!("imported"));
    append(&service, &token("agent"), &own).expect_problem(422, "schema");

    // With a second ledger the token still means its own.
    ask(&service, "POST", "/v1/ledgers", Some(&token("admin")), r#"{"name":"second"}"#).expect(201);
    send("/v1/traces", Some("agent")).expect(200);
    send("/v1/traces", Some("admin")).expect(200);
    send("/v1/ledgers/second/otlp/v1/traces", Some("agent")).expect(401);
    let named = |name: &str, ledger: &str| {
        let authorization = format!("Bearer {}", token(name));
        let headers =
            [("Content-Type", JSON), ("Authorization", authorization.as_str()), ("Bitacora-Ledger", ledger)];
        service.request("POST", "/v1/traces", &headers, body.as_bytes())
    };
    named("admin", "second").expect(200);
    named("agent", "second").expect(401);
    named("admin", "../x").expect(400);
    named("admin", "none").expect(404);
    let page =
        ask(&service, "GET", "/v1/ledgers/second/events?type=telemetry.tool", Some(&token("admin")), "");
    assert_eq!(page.expect(200).json()["events"].as_array().unwrap().len(), 1);
}
