//! Callers that hold resources others need: bodies that drip, connections that idle, uploads that pause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_server::ServerLimits;

use crate::governed::govern;
use crate::identities::{ask, guard, token};
use crate::service::{RawClient, TestService, event, head};

const POST: &str = "/v1/ledgers/main/events";
const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];
/// Room that some dozen dripping bodies fill.
const BODIES: usize = 2 * 1024 * 1024;
/// Longer than anybody waits for others to give way.
const IN_TIME: Duration = Duration::from_secs(4);

/// Bodies of requests to this path that have begun and do not end.
fn drip(service: &TestService, target: &str, connections: usize, bytes: usize) -> Vec<RawClient> {
    let begun = (0..connections).map(|_| {
        let mut client = service.connect();
        client.send_some(head("POST", target, JSON, Some(1024 * 1024)).as_bytes());
        client.send_some(&vec![b' '; bytes]);
        client
    });
    begun.collect()
}

fn large_body(id: &str) -> String {
    " ".repeat(600 * 1024) + &event(id, "s")
}

/// All requests come from one caller here, the one that drips: no share protects it.
#[test]
fn bodies_that_drip_keep_nobody_from_anything() {
    let limits = ServerLimits { max_body_bytes_in_flight: BODIES, ..ServerLimits::default() };
    let service = TestService::with(limits);
    govern(&service, "allow");
    let call = r#"{"call":"c1","tool":"fs.write","args":{"path":"src/a.rs"}}"#;
    let decide = "/v1/ledgers/main/decide";
    let panic = "/v1/ledgers/main/panic";
    let mut all = Vec::new();
    for (target, connections, bytes) in [
        (POST, 33, 200 * 1024),
        (POST, 33, 30 * 1024),
        (decide, 33, 30 * 1024),
        ("/v1/ledgers", 33, 30 * 1024),
    ] {
        all.extend(drip(&service, target, connections, bytes));
    }
    // Those that find no room hear why.
    let began = Instant::now();
    while !all.iter_mut().any(gave_way_now) {
        assert!(began.elapsed() < Duration::from_secs(30), "nobody gave way");
        thread::sleep(Duration::from_millis(5));
    }
    // Real time has to pass until the others are behind too: nothing of the service tells that they are.
    thread::sleep(Duration::from_millis(2_500));
    let began = Instant::now();
    service.post(panic, "application/json", r#"{"reason":"now"}"#).expect(200);
    assert!(began.elapsed() < Duration::from_secs(1), "at once: {:?}", began.elapsed());
    service.request("DELETE", panic, JSON, br#"{"reason":"over"}"#).expect(200);
    let began = Instant::now();
    service.post(decide, "application/json", call).expect(200);
    service.append(event("small", "s")).expect(201);
    service.append(large_body("large")).expect(201);
    service.post("/v1/ledgers", "application/json", r#"{"name":"another"}"#).expect(201);
    assert!(began.elapsed() < 2 * IN_TIME, "{:?}", began.elapsed());
}

/// Returns `true` if the client was asked to come again by now.
fn gave_way_now(client: &mut RawClient) -> bool {
    client.try_answer_now().is_some_and(|answer| {
        answer.status == 503
            && answer.header("retry-after") == Some("1")
            && answer.text().contains("overloaded")
    })
}

/// Bodies that are stopped by one of the stops' own kind.
#[test]
fn stops_that_drip_give_way_to_one_that_does_not() {
    let limits = ServerLimits { max_body_bytes_in_flight: BODIES, ..ServerLimits::default() };
    let service = TestService::with(limits);
    govern(&service, "allow");
    let panic = "/v1/ledgers/main/panic";
    let _dripping = drip(&service, panic, 33, 12 * 1024);
    let began = Instant::now();
    service.post(panic, "application/json", r#"{"reason":"now"}"#).expect(200);
    assert!(began.elapsed() < IN_TIME, "{:?}", began.elapsed());
}

#[test]
fn connections_that_idle_or_drip_give_way() {
    let service = TestService::with(ServerLimits { max_connections: 6, ..ServerLimits::default() });
    let served = || {
        let mut client = service.connect();
        client.send(head("GET", "/livez", &[], None).as_bytes());
        client.answer().expect(200);
        client
    };
    let mut idle = [served(), served(), service.connect()];
    let mut heads = [service.connect(), service.connect(), service.connect()];
    heads.iter_mut().for_each(|client| client.send(b"GET /livez HTTP/1.1\r\n"));
    let _fillers = appends_and_fills(&service, 6, || {
        let mut filler = service.connect();
        filler.send_some(b"GET");
        filler
    });
    for client in &mut idle {
        assert!(client.is_ended(), "without a word");
    }
    for client in &mut heads {
        gave_way(client);
    }

    let service = TestService::with(ServerLimits { max_connections: 3, ..ServerLimits::default() });
    let mut bodies = drip(&service, POST, 3, 30);
    // Real time has to pass until all of them are behind: nothing of the service tells that they are.
    thread::sleep(Duration::from_secs(1));
    let _fillers = appends_and_fills(&service, 3, || drip(&service, POST, 1, 30).remove(0));
    for client in &mut bodies {
        gave_way(client);
    }
}

#[test]
fn connections_that_have_their_answer_and_stay_open_give_way() {
    let service = TestService::with(ServerLimits { max_connections: 4, ..ServerLimits::default() });
    let refused = || {
        let mut client = service.connect();
        client.send(b"GET / HTTP/1.1\r\n\r\nmore");
        client.answer().expect(400);
        client
    };
    let _open = [refused(), refused(), refused(), refused()];
    let _fillers = appends_and_fills(&service, 8, refused);
}

/// So many appends, each of which needs a place that another connection holds; each leaves its own to one that is returned, and holds it.
fn appends_and_fills(
    service: &TestService,
    appends: usize,
    filler: impl Fn() -> RawClient,
) -> Vec<RawClient> {
    let mut fillers = Vec::new();
    for _ in 0..appends {
        let began = Instant::now();
        service.append(event(&format!("{began:?}"), "s")).expect(201);
        assert!(began.elapsed() < IN_TIME, "{:?}", began.elapsed());
        fillers.push(filler());
    }
    fillers
}

fn gave_way(client: &mut RawClient) {
    let answer = client.answer();
    assert_eq!(answer.header("retry-after"), Some("1"));
    answer.expect_problem(503, "overloaded");
}

#[test]
fn connections_of_nobody_give_way_however_much_they_ask() {
    let limits = ServerLimits { max_connections: 9, ..ServerLimits::default() };
    let service = TestService::with(limits);
    guard(&service);
    let (service, operator) = (&service, token("operator"));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut client = service.connect();
                    while !is_over.load(Ordering::Relaxed)
                        && client.send_some(head("GET", "/livez", &[], None).as_bytes())
                        && client.try_answer().is_some()
                    {
                        thread::sleep(Duration::from_millis(200));
                    }
                }
            });
        }
        thread::sleep(Duration::from_millis(200));
        let stop = || ask(service, "POST", "/v1/ledgers/main/panic", Some(&operator), r#"{"reason":"stop"}"#);
        let answers: Vec<_> = (0..5).map(|_| (Instant::now(), stop(), Instant::now())).collect();
        is_over.store(true, Ordering::Relaxed);
        for (began, answer, ended) in answers {
            answer.expect(200);
            assert!(ended - began < IN_TIME, "{:?}", ended - began);
        }
    });
}

#[test]
fn an_upload_that_pauses_gives_way_and_what_it_heard_stays() {
    let service = TestService::with(ServerLimits { max_ingests: 1, ..ServerLimits::default() });
    let ingest = "/v1/ledgers/main/events:ingest";
    let fields = [("Content-Type", "application/x-ndjson"), ("Transfer-Encoding", "chunked")];
    let mut paused = service.connect();
    paused.send(head("POST", ingest, &fields, None).as_bytes());
    let line = event("paused", "s").replace('\n', "") + "\n";
    paused.send(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes());
    paused.read_past(b"\"lines\":1,");
    let upload = |id: &str| service.post(ingest, fields[0].1, event(id, "s").replace('\n', "") + "\n");
    // An upload that has just sent something does not lose its place.
    upload("early").expect_problem(503, "overloaded");
    let began = Instant::now();
    let late = loop {
        let late = upload("late");
        if late.status == 200 {
            break late;
        }
        late.expect_problem(503, "overloaded");
        assert!(began.elapsed() < 2 * IN_TIME, "{:?}", began.elapsed());
    };
    assert!(late.text().contains("\"end\""));
    let last = paused.read_past(b"\"overloaded\"");
    assert!(last.contains("\"error\""), "{last}");
}

/// 16 MiB of empty lines are 16 KiB on their way.
#[test]
fn an_upload_of_empty_lines_costs_what_its_bytes_cost() {
    let service = TestService::start();
    let lines = vec![b'\n'; 16 * 1024 * 1024];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &lines).unwrap();
    let body = encoder.finish().unwrap();
    let began = Instant::now();
    let fields = [("Content-Type", "application/x-ndjson"), ("Content-Encoding", "gzip")];
    let answer = service.request("POST", "/v1/ledgers/main/events:ingest", &fields, &body).expect(200);
    assert!(answer.text().contains("\"end\""), "{}", answer.text());
    // 4.7 s of an optimized program were needed when every chunk looked at all lines.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
