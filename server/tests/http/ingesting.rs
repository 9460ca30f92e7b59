//! Uploads of any length: acknowledged while they come, ended by the first line that is refused.

use std::io::Write;
use std::time::{Duration, Instant};

use bitacora_api::{IngestEnd, IngestLine};
use bitacora_server::{ConnectionTimeouts, ServerLimits};
use serde_json::{Value, json};

use crate::service::{RawClient, ServiceAnswer, TestService, event, head};

const INGEST: &str = "/v1/ledgers/main/events:ingest";
const NDJSON: (&str, &str) = ("Content-Type", "application/x-ndjson");
const CHUNKED: (&str, &str) = ("Transfer-Encoding", "chunked");

fn line(id: u64) -> String {
    event(&format!("i{id}"), &format!("s{}", id % 7)) + "\n"
}

fn lines(ids: std::ops::Range<u64>) -> String {
    ids.map(line).collect()
}

/// An upload whose pieces are sent one by one.
struct UploadConnection(RawClient);

impl UploadConnection {
    fn begin(service: &TestService, headers: &[(&str, &str)]) -> Self {
        let mut all = vec![NDJSON, CHUNKED];
        all.extend_from_slice(headers);
        let mut client = service.connect();
        client.send(head("POST", INGEST, &all, None).replace("Content-Length: 0\r\n", "").as_bytes());
        Self(client)
    }

    fn send(&mut self, piece: impl AsRef<[u8]>) -> bool {
        let piece = piece.as_ref();
        self.0.send_some(format!("{:x}\r\n", piece.len()).as_bytes())
            && self.0.send_some(piece)
            && self.0.send_some(b"\r\n")
    }

    /// Ends it, where some of the answer was read already; returns the rest of it.
    fn finish_after(mut self, read: &str) -> String {
        self.0.send_some(b"0\r\n\r\n");
        read.to_owned() + &self.0.read_past(b"\r\n0\r\n\r\n")
    }

    fn finish(mut self) -> ServiceAnswer {
        self.0.send_some(b"0\r\n\r\n");
        self.0.answer()
    }
}

/// The answer's lines: what was acknowledged, in order, and the last one.
fn told(answer: &ServiceAnswer) -> (Vec<u64>, Value) {
    let mut values: Vec<Value> =
        answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = values.pop().unwrap();
    let acknowledged: Vec<u64> = values.iter().map(|value| value["lines"].as_u64().unwrap()).collect();
    assert!(acknowledged.is_sorted_by(|one, next| one < next), "{acknowledged:?}");
    (acknowledged, last)
}

fn end(answer: &ServiceAnswer) -> IngestEnd {
    match serde_json::from_str(answer.text().lines().last().unwrap()).unwrap() {
        IngestLine::End { end } => end,
        other => panic!("{other:?}"),
    }
}

/// The error that ends an upload, and the line it names.
fn error(answer: &ServiceAnswer, code: &str) -> (Vec<u64>, Value) {
    let (acknowledged, last) = told(answer);
    assert_eq!(last["error"]["code"], code, "{last}");
    (acknowledged, last["error"].clone())
}

fn ids(service: &TestService) -> Vec<String> {
    let answer =
        service.get_with("/v1/ledgers/main/events?type=x.happened", &[("Accept", "application/x-ndjson")]);
    let values = answer.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    values.filter_map(|value| Some(value["event"]["id"].as_str()?.to_owned())).collect()
}

fn expected_ids(ids: std::ops::Range<u64>) -> Vec<String> {
    ids.map(|id| format!("i{id}")).collect()
}

#[test]
fn any_number_of_lines_is_appended_in_order_and_twice_adds_nothing() {
    let service = TestService::start();
    let body = lines(0..12_345);
    assert!(body.len() > 1 << 20);
    let first = end(&service.post(INGEST, NDJSON.1, &body).expect(200));
    assert_eq!((first.lines, first.created, first.duplicates), (12_345, 12_345, 0));
    assert_eq!(first.head.position, service.tip().to_string());
    assert_eq!(ids(&service), expected_ids(0..12_345));
    let again = service.post(INGEST, NDJSON.1, &body).expect(200);
    assert_eq!((end(&again).created, end(&again).duplicates, end(&again).first), (0, 12_345, first.first));
    assert_eq!(service.tip().to_string(), first.head.position);
    let empty = end(&service.post(INGEST, NDJSON.1, "\n\n").expect(200));
    assert_eq!((empty.lines, empty.created, empty.first), (2, 0, None));
    assert_eq!(end(&service.post(INGEST, NDJSON.1, "").expect(200)).lines, 0);
}

#[test]
fn lines_are_acknowledged_while_others_are_still_to_come() {
    let service = TestService::start();
    let mut upload = UploadConnection::begin(&service, &[]);
    let mut acknowledged = String::new();
    for id in 0..5 {
        let whole = line(id);
        let (one, other) = whole.split_at(20);
        assert!(upload.send(one) && upload.send(other));
        let awaited = format!("{{\"lines\":{},", id + 1);
        acknowledged += &upload.0.read_past(awaited.as_bytes());
        // Acknowledged means durable.
        assert_eq!(ids(&service).len() as u64, id + 1);
    }
    upload.send(line(5).trim_end());
    let answer = upload.finish_after(&acknowledged);
    assert!(answer.contains(r#"{"end":{"lines":6,"#), "a last line needs no line feed: {answer}");
}

#[test]
fn a_client_that_listens_only_at_the_end_is_served() {
    let service = TestService::start();
    let mut upload = UploadConnection::begin(&service, &[]);
    for chunk in 0..300 {
        assert!(upload.send(lines(chunk * 100..chunk * 100 + 100)));
    }
    let answer = upload.finish();
    assert_eq!((end(&answer).lines, end(&answer).created), (30_000, 30_000));
    let (acknowledged, _) = told(&answer);
    assert_eq!(acknowledged.last(), Some(&30_000));
    assert_eq!(ids(&service), expected_ids(0..30_000));
}

#[test]
fn the_first_bad_line_ends_it_and_what_came_before_stays() {
    let service = TestService::start();
    let mut from = 0;
    for (bad, code, pointer) in [
        ("{\"specversion\":\"1.0\"}\n", "missing-attribute", ""),
        ("not json\n", "not-json", ""),
        ("{\"specversion\":\"1.0\",\"id\":\"x", "truncated-json", ""),
        (&event("", "s"), "empty-attribute", "/id"),
        (&event("x", "s").replace("x.happened", "ledger.created"), "reserved-type", ""),
        (&event(&"x".repeat(300), "s"), "attribute-too-long", "/id"),
        ("\u{0}\n", "not-json", ""),
    ] {
        let body = format!("{}\n{}{bad}", lines(from..from + 1_500), lines(from + 1_500..from + 1_700));
        let answer = service.post(INGEST, NDJSON.1, body + "\n" + &line(999_999)).expect(200);
        let (acknowledged, error) = error(&answer, code);
        assert_eq!(error["errors"][0]["line"], 1_702, "{error}");
        assert!(error["errors"][0]["pointer"].as_str().unwrap().starts_with(pointer), "{error}");
        assert_eq!((acknowledged.last(), &error["sideEffects"]), (Some(&1_701), &Value::from("none")));
        from += 1_700;
        assert_eq!(ids(&service), expected_ids(0..from), "{code}");
    }
    let reused = line(3).replace(r#"{"n":1}"#, r#"{"n":2}"#);
    let answer = service.post(INGEST, NDJSON.1, format!("\n{}\n{reused}", line(0))).expect(200);
    let (_, error) = error(&answer, "id-reused");
    assert_eq!(
        (&error["errors"][0]["line"], error["position"].is_string()),
        (&Value::from(4), true),
        "{error}"
    );
}

#[test]
fn an_id_that_stands_twice_is_a_repetition_wherever_chunks_end() {
    let service = TestService::start();
    let body = lines(0..10) + &lines(5..15) + &lines(0..3) + "bad";
    let answer = service.post(INGEST, NDJSON.1, body).expect(200);
    let (acknowledged, error) = error(&answer, "not-json");
    assert_eq!((acknowledged.last(), &error["errors"][0]["line"]), (Some(&23), &Value::from(24)));
    assert_eq!(ids(&service), expected_ids(0..15));
    let again = end(&service.post(INGEST, NDJSON.1, lines(0..10) + &lines(0..10)).expect(200));
    assert_eq!((again.created, again.duplicates), (0, 20));
}

#[test]
fn a_line_without_end_is_refused() {
    let service = TestService::start();
    let mut upload = UploadConnection::begin(&service, &[]);
    upload.send(lines(0..3));
    for _ in 0..80 {
        if !upload.send("x".repeat(1 << 16)) {
            break;
        }
    }
    let answer = upload.0.answer();
    let (_, error) = error(&answer, "request-too-large");
    assert_eq!(error["errors"][0]["line"], 4);
    assert_eq!(ids(&service), expected_ids(0..3));
}

#[test]
fn an_upload_that_is_cut_keeps_what_was_whole_and_acknowledged() {
    let service = TestService::start();
    let mut upload = UploadConnection::begin(&service, &[]);
    upload.send(lines(0..100));
    let acknowledged = upload.0.read_past(b"\"lines\":100,");
    assert!(!acknowledged.contains("end"));
    upload.send(&line(100)[..40]);
    drop(upload);
    let began = Instant::now();
    while !service.get("/metrics").text().contains("bitacora_http_ingests 0\n") {
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ids(&service), expected_ids(0..100));

    let body = lines(0..200);
    let mut client = service.connect();
    client.send(head("POST", INGEST, &[NDJSON], Some(body.len() + 1)).as_bytes());
    client.send(body.as_bytes());
    client.half_close();
    error(&client.answer(), "body-cut");
}

#[test]
fn compressed_uploads_are_decompressed_as_they_come() {
    let service = TestService::start();
    let zipped = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let send = |encoding: &str, bytes: &[u8]| {
        let mut upload = UploadConnection::begin(&service, &[("Content-Encoding", encoding)]);
        bytes.chunks(10_000).all(|piece| upload.send(piece));
        upload.finish().expect(200)
    };
    // More than a request may hold.
    let text = lines(0..45_000);
    assert!(text.len() > 4 << 20);
    assert_eq!(end(&send("gzip", &zipped(&text))).created, 45_000);
    let text = lines(45_000..55_000);
    assert_eq!(end(&send("zstd", &zstd::stream::encode_all(text.as_bytes(), 1).unwrap())).created, 10_000);
    error(&send("gzip", text.as_bytes()), "bad-encoding");
    error(&send("zstd", &zstd::stream::encode_all(text.as_bytes(), 1).unwrap()[..5_000]), "bad-encoding");
    let bomb = zstd::stream::encode_all(std::io::Read::take(std::io::repeat(b'x'), 1 << 30), 1).unwrap();
    error(&send("zstd", &bomb), "request-too-large");
    assert_eq!(ids(&service).len(), 55_000);
}

#[test]
fn an_upload_may_pause_longer_than_a_request() {
    let pause = Duration::from_millis(300);
    let patience = ConnectionTimeouts {
        body_pause: pause,
        body_grace: pause,
        upload_pause: Duration::from_millis(1_500),
        ..ConnectionTimeouts::default()
    };
    let service = TestService::with(ServerLimits { patience, ..ServerLimits::default() });
    let mut upload = UploadConnection::begin(&service, &[]);
    for id in 0..3 {
        upload.send(line(id));
        // Real time has to pass: a pause is longer than one of a request, and all of them than one of an upload.
        std::thread::sleep(2 * pause);
    }
    let answer = upload.0.answer();
    let (acknowledged, _) = error(&answer, "request-timeout");
    assert_eq!(acknowledged.last(), Some(&3));
    // The next request of another connection has the patience of any.
    let mut client = service.connect();
    client.send(head("POST", "/v1/ledgers/main/events", &[NDJSON], Some(10)).as_bytes());
    client.answer().expect_problem(408, "request-timeout");
}

#[test]
fn what_is_no_upload_is_refused_before_it_begins() {
    let service = TestService::with(ServerLimits { max_ingests: 1, ..ServerLimits::default() });
    service.post(INGEST, "application/json", line(0)).expect_problem(415, "unsupported-media-type");
    let post = |headers: &[(&str, &str)]| {
        let mut all = vec![NDJSON];
        all.extend_from_slice(headers);
        service.request("POST", INGEST, &all, line(0).as_bytes())
    };
    post(&[("Content-Encoding", "br")]).expect_problem(415, "unsupported-encoding");
    post(&[("If-Match", "\"v1\"")]).expect_problem(400, "bad-header");
    post(&[("If-None-Match", "*")]).expect_problem(400, "bad-header");
    service.post("/v1/ledgers/none/events:ingest", NDJSON.1, line(0)).expect_problem(404, "ledger-not-found");
    assert_eq!(service.get(INGEST).status, 405);
    let mut first = UploadConnection::begin(&service, &[]);
    first.send(line(0));
    first.0.read_past(b"\"lines\":1,");
    let refused = post(&[]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.expect_problem(503, "overloaded");
    assert!(first.finish_after("").contains("\"end\""));
    let of_stream = service.post("/v1/ledgers/main/streams/s0/events:ingest", NDJSON.1, line(7) + &line(8));
    assert_eq!(error(&of_stream, "stream-mismatch").1["errors"][0]["line"], 2);
}

/// A call that is asked for, recorded of its agent.
fn request(call: u64) -> String {
    let data = json!({"call": format!("c{call}"), "tool": "fs.write", "args": {"path": "src/a.rs"}});
    governed_line("tool.requested", call, &data)
}

fn governed_line(kind: &str, id: u64, data: &Value) -> String {
    let mut event = json!({"specversion": "1.0", "id": format!("{kind}{id}"), "source": "test", "type": kind,
        "subject": "session/1", "data": data});
    event["call"] = data["call"].clone();
    if event["call"].is_null() {
        event.as_object_mut().unwrap().remove("call");
    }
    format!("{event}\n")
}

#[test]
fn from_any_number_of_lines_events_follow_in_order() {
    let service = crate::governed::governed("allow");
    // Far more follows from them than from one request may.
    let mut body: String = (0..700).map(request).collect();
    let outcome = |call: u64| json!({"call": format!("c{call}"), "status": "ok"});
    body += "\n";
    body += &lines(0..3);
    body += &(0..700).map(|call| governed_line("tool.completed", call, &outcome(call))).collect::<String>();
    let answer = service.post(INGEST, NDJSON.1, &body).expect(200);
    let last = end(&answer);
    assert_eq!((last.lines, last.created, last.duplicates), (1_404, 1_403, 0));
    let (acknowledged, _) = told(&answer);
    assert_eq!(acknowledged.last(), Some(&1_404));
    let decided =
        service.get_with("/v1/ledgers/main/events?type=decision.made", &[("Accept", "application/x-ndjson")]);
    let calls: Vec<String> = decided
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|value| Some(value["event"]["data"]["call"].as_str()?.to_owned()))
        .collect();
    assert_eq!(calls, (0..700).map(|call| format!("c{call}")).collect::<Vec<_>>());
    let again = end(&service.post(INGEST, NDJSON.1, &body).expect(200));
    assert_eq!((again.created, again.duplicates, again.head.position), (0, 1_403, last.head.position));
}

#[test]
fn what_a_line_rests_on_may_come_right_before_it() {
    let service = crate::governed::governed("allow");
    let tool = json!({"tool": "fs.read", "version": "1", "description": "a tool", "input_schema": {"type": "object"},
        "risk": "read", "blast_radius": "low", "requires_review": false, "allowed_roles": ["admin"],
        "timeout_ms": 1_000, "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": []});
    let call = json!({"call": "c1", "tool": "fs.read", "args": {}});
    let body = governed_line("tool.registered", 1, &tool) + &governed_line("tool.requested", 1, &call);
    let answer = service.post(INGEST, NDJSON.1, &body).expect(200);
    assert_eq!(end(&answer).created, 2, "{}", answer.text());
}

#[test]
fn a_line_that_the_state_refuses_is_named_and_nothing_behind_it_is_kept() {
    let service = crate::governed::governed("allow");
    let reused = request(3).replace("tool.requested3", "another").replace("src/a.rs", "src/b.rs");
    let body: String = (0..300).map(request).collect::<String>() + &lines(0..2) + &reused + &lines(2..600);
    let answer = service.post(INGEST, NDJSON.1, &body).expect(200);
    let (acknowledged, error) = error(&answer, "call-reused");
    let line = error["errors"][0]["line"].as_u64().unwrap();
    assert_eq!((line, &error["sideEffects"]), (303, &Value::from("none")), "{error}");
    assert_eq!((acknowledged.last(), ids(&service)), (Some(&302), expected_ids(0..2)));
}

#[test]
fn a_service_that_ends_says_which_lines_stay() {
    let mut service = TestService::start();
    let mut upload = UploadConnection::begin(&service, &[]);
    upload.send(lines(0..10));
    upload.0.read_past(b"\"lines\":10,");
    service.begin_shutdown();
    let rest = upload.0.read_past(b"\"closing\"");
    assert!(rest.contains("\"error\""), "{rest}");
    service.wait().unwrap();
}

#[test]
fn a_ledger_that_takes_nothing_ends_an_upload() {
    let service = TestService::start();
    service
        .post("/v1/admin/read-only", "application/json", r#"{"ledger":"main","readOnly":true}"#)
        .expect(202);
    let began = Instant::now();
    loop {
        let answer = service.post(INGEST, NDJSON.1, line(0)).expect(200);
        if answer.text().contains("\"read-only\"") {
            let (acknowledged, error) = error(&answer, "read-only");
            assert_eq!((acknowledged.len(), &error["retryable"]), (0, &Value::from(true)));
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
