//! Exporters that flood: huge requests, bombs, and many of them at once.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use bitacora_server::ServerLimits;
use serde_json::json;

use crate::exports::{
    JSON, PROTOBUF, attribute, events_after, export, field, gzip, request, span, status, text_value,
};
use crate::identities::{ask, guard, hash, token};
use crate::service::{RawClient, TestService, head};

/// A million spans, one in a thousand of which tells something about an agent.
const SPANS: u64 = 1_000_000;
const TELLING: u64 = 1_000;
/// Bytes of a request, at most, after decompression.
const MOST: usize = 64 << 20;
/// The longest that a program without optimisations takes for so many, beside other tests.
const PATIENCE: Duration = Duration::from_secs(240);
/// Longer than anybody waits for others to give way.
const IN_TIME: Duration = Duration::from_secs(6);

fn count(service: &TestService, outcome: &str) -> u64 {
    let metrics = service.get("/metrics").expect(200).text().to_owned();
    let line = format!("bitacora_otlp_records_total{{outcome=\"{outcome}\"}} ");
    let found = metrics.lines().find_map(|shown| shown.strip_prefix(&line));
    found.unwrap_or_else(|| panic!("{line}: {metrics}")).parse().unwrap()
}

#[test]
fn a_million_spans_in_one_request_are_taken() {
    let service = TestService::start();
    let tip = service.tip();
    let silent = |id: u64| field(2, &[field(1, &[7; 16]), field(2, &id.to_be_bytes())].concat());
    let mut spans = Vec::new();
    for id in 1..=SPANS {
        spans.extend(if id % (SPANS / TELLING) == 0 { span(id, b"") } else { silent(id) });
    }
    let body = field(1, &field(2, &spans));
    assert!(body.len() < MOST, "{} bytes", body.len());
    let mut client = service.connect();
    client.sender().set_read_timeout(Some(PATIENCE)).unwrap();
    client.send(head("POST", "/v1/traces", &[("Content-Type", PROTOBUF)], Some(body.len())).as_bytes());
    client.send(&body);
    assert_eq!(client.answer().expect(200).body, b"");
    assert_eq!((count(&service, "recorded"), count(&service, "skipped")), (TELLING, SPANS - TELLING));
    assert_eq!(service.tip(), tip + TELLING);
}

#[test]
fn a_million_spans_without_ids_are_rejected_in_one_sentence() {
    let service = TestService::start();
    let tip = service.tip();
    let spans = field(2, &field(5, b"execute_tool x")).repeat(usize::try_from(SPANS).unwrap());
    let body = field(1, &field(2, &spans));
    let answer = export(&service, "traces", PROTOBUF, &body).expect(200);
    assert!(answer.body.len() < 1_024, "{} bytes", answer.body.len());
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(text.contains("1000000 rejected: no valid trace id and span id"), "{text}");
    let json =
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}{{}}]}}]}}]}}"#, "{},".repeat(99_999));
    let answer = export(&service, "traces", JSON, json.as_bytes()).expect(200).json();
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "100000");
    assert_eq!((service.tip(), count(&service, "rejected")), (tip, SPANS + 100_000));
}

#[test]
fn attributes_of_10_megabytes_become_digests_or_a_fault() {
    let service = TestService::start();
    let tip = service.tip();
    let long = "x".repeat(10_000_000);
    let value = text_value(&long);
    let bytes = field(7, long.as_bytes());
    let spans = [
        span(1, &[attribute(9, "text", &value), attribute(9, "bytes", &bytes)].concat()),
        span(2, &attribute(9, "gen_ai.tool.name", &value)),
        span(3, &attribute(9, &long, &text_value("the name is long"))),
        span(4, &attribute(9, "list", &field(5, &field(1, &value)))),
    ];
    let answer = export(&service, "traces", PROTOBUF, &request(&spans)).expect(200);
    let told = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(told.contains("1 rejected: more than 262144 bytes of data"), "{told}");
    let kept = events_after(&service, tip);
    assert_eq!(kept.len(), 3, "{kept:?}");
    let digest = json!({"sha256": hash(&long), "bytes": long.len()});
    for event in &kept {
        let attributes = &event["data"]["attributes"];
        let found = ["text", "gen_ai.tool.name", "list"].map(|name| attributes[name].clone());
        assert!(found.contains(&digest) || found.contains(&json!([digest])), "{attributes}");
        assert!(event.to_string().len() < 2_000);
    }
    let json = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "execute_tool y",
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
            {"key": "text", "value": {"stringValue": long}}]}]}]}]});
    export(&service, "traces", JSON, json.to_string().as_bytes()).expect(200);
    assert_eq!(events_after(&service, tip)[3]["data"]["attributes"]["text"], digest);
}

#[test]
fn bombs_end_at_the_limit_in_every_encoding() {
    let service = TestService::start();
    let tip = service.tip();
    let piece = vec![0_u8; MOST / 4];
    // Five members of gzip, each below the limit by itself.
    let members = gzip(&piece).repeat(5);
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..64 {
        encoder.write_all(&piece).unwrap();
    }
    let gibibyte = encoder.finish().unwrap();
    assert!(gibibyte.len() < 200_000, "{} bytes", gibibyte.len());
    for (encoding, bomb) in [("gzip", members), ("zstd", gibibyte)] {
        for content_type in [PROTOBUF, JSON] {
            let headers = [("Content-Type", content_type), ("Content-Encoding", encoding)];
            let answer = service.request("POST", "/v1/traces", &headers, &bomb).expect(413);
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(text.contains("67108864 bytes"), "{encoding}: {text}");
        }
    }
    // A bomb within a bomb is only decompressed once.
    let headers = [("Content-Type", PROTOBUF), ("Content-Encoding", "gzip")];
    service.request("POST", "/v1/traces", &headers, &gzip(&gzip(&piece))).expect(400);
    assert_eq!(service.tip(), tip);
}

/// An export of this caller that has begun and does not end.
fn stalled(service: &TestService, name: &str) -> RawClient {
    let authorization = format!("Bearer {}", token(name));
    let headers = [("Content-Type", PROTOBUF), ("Authorization", authorization.as_str())];
    let mut client = service.connect();
    client.send(head("POST", "/v1/traces", &headers, Some(1024 * 1024)).as_bytes());
    client.send_some(&[0x0a; 64]);
    client
}

#[test]
fn of_many_callers_at_once_the_one_that_floods_is_told_to_come_again_and_others_are_served() {
    let service = TestService::with(ServerLimits { max_ingests: 4, ..ServerLimits::default() });
    guard(&service);
    let mut flood: Vec<_> = (0..24).map(|_| stalled(&service, "agent")).collect();
    thread::scope(|scope| {
        for number in 0..8_u64 {
            let service = &service;
            scope.spawn(move || {
                let began = Instant::now();
                let body = String::from_utf8(include_bytes!("otlp/js-traces.json").to_vec()).unwrap();
                ask(service, "POST", "/v1/traces", Some(&token("operator")), &body).expect(200);
                assert!(began.elapsed() < IN_TIME, "caller {number}: {:?}", began.elapsed());
            });
        }
    });
    let (began, mut refused) = (Instant::now(), Vec::new());
    while refused.len() < 20 {
        assert!(began.elapsed() < PATIENCE, "{} of the flood were refused", refused.len());
        flood.retain_mut(|client| match client.try_answer_now() {
            Some(answer) => {
                refused.push(answer);
                false
            }
            None => true,
        });
        thread::sleep(Duration::from_millis(20));
    }
    for answer in refused {
        // 503 with a time is one of the answers after which exporters try again.
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
        assert_eq!(status(&answer.body).0, 14);
    }
}
