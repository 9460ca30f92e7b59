//! Reads: pages, filters, NDJSON, waiting, and events that cannot be read.

use std::time::{Duration, Instant};

use bitacora_api::{EndLine, StoredEvent, StoredEventPage};
use bitacora_server::ServerLimits;
use serde_json::{Value, json};

use crate::service::{TestService, event, head};

const EVENTS: &str = "/v1/ledgers/main/events";

fn with_events(count: usize) -> TestService {
    let service = TestService::start();
    for chunk in (0..count).collect::<Vec<_>>().chunks(50) {
        let events: Vec<String> =
            chunk.iter().map(|n| event(&n.to_string(), &format!("s{}", n % 3))).collect();
        service.append(format!("[{}]", events.join(","))).expect(201);
    }
    service
}

fn positions(page: &Value) -> Vec<u64> {
    let events = page["events"].as_array().unwrap();
    events.iter().map(|event| event["position"].as_str().unwrap().parse().unwrap()).collect()
}

#[test]
fn pages_follow_each_other_without_a_gap() {
    let service = with_events(25);
    let tip = service.tip();
    let (mut after, mut seen) = ("0".to_owned(), Vec::new());
    loop {
        let answer = service.get(&format!("{EVENTS}?after={after}&limit=10")).expect(200);
        assert_eq!(answer.header("ledger-position"), Some(tip.to_string().as_str()));
        let page = answer.json();
        let full = page.get("next").is_some();
        let cache = if full { "private, max-age=3600" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), Some(cache));
        seen.extend(positions(&page));
        assert_eq!(page["head"]["position"], tip.to_string());
        let Some(next) = page.get("next") else { break };
        next.as_str().unwrap().clone_into(&mut after);
    }
    assert_eq!(seen, (1..=tip).collect::<Vec<_>>());

    let (mut until, mut seen) = (tip.to_string(), Vec::new());
    loop {
        let page = service.get(&format!("{EVENTS}?dir=backward&until={until}&limit=10")).expect(200).json();
        seen.extend(positions(&page));
        let Some(next) = page.get("next") else { break };
        next.as_str().unwrap().clone_into(&mut until);
    }
    assert_eq!(seen, (1..=tip).rev().collect::<Vec<_>>());
}

/// Later pages may hold sealed events, and may grow.
#[test]
fn lines_of_several_pages_are_kept_by_no_cache() {
    let service = with_events(1_200);
    let of = |query: &str| {
        let target = format!("{EVENTS}?{query}");
        let answer = service.request("GET", &target, &[("Accept", "application/x-ndjson")], b"").expect(200);
        let lines = answer.text().lines().count() - 1;
        (lines, answer.header("cache-control").unwrap().to_owned())
    };
    assert_eq!(of("type=x.happened&limit=10"), (10, "private, max-age=3600".to_owned()));
    assert_eq!(of("type=x.happened&limit=1100"), (1_100, "no-store".to_owned()));
    assert_eq!(of("type=x.happened"), (1_200, "no-store".to_owned()));
}

#[test]
fn an_event_is_read_back_as_it_was_written() {
    let service = TestService::start();
    let data = "{ \"z\" : 1.50,\n\t\"a\":\"\\u00e9\\n\" , \"big\":123456789012345 }";
    let whole = event("1", "s").replace(r#"{"n":1}"#, data);
    let position = service.append(&whole).expect(201).json()["first"].as_str().unwrap().to_owned();
    let answer = service.get(&format!("{EVENTS}/{position}")).expect(200);
    assert_eq!(answer.header("cache-control"), Some("private, max-age=3600"), "it may expire");
    let lasting = service.get(&format!("{EVENTS}/1")).expect(200);
    assert_eq!(lasting.header("cache-control"), Some("private, max-age=31536000, immutable"));
    assert!(answer.text().contains(data), "{}", answer.text());
    let stored: StoredEvent = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((stored.position.as_str(), stored.stream_version.as_str()), (position.as_str(), "1"));
    assert!(
        stored.recorded_at.ends_with('Z') && stored.recorded_at.len() == "2026-11-20T13:00:00.000000Z".len()
    );
    let event: Value = serde_json::from_str(stored.event.get()).unwrap();
    assert_eq!(
        (&event["id"], &event["specversion"], &event["type"]),
        (&json!("1"), &json!("1.0"), &json!("x.happened"))
    );
    let page: StoredEventPage =
        serde_json::from_slice(&service.get(&format!("{EVENTS}?stream=s")).expect(200).body).unwrap();
    assert!(page.events[0].event.get().contains(data));
}

#[test]
fn lines_end_in_a_line_that_says_so() {
    let service = with_events(25);
    let tip = service.tip();
    let read = |target: &str| {
        let answer = service.get_with(target, &[("Accept", "application/x-ndjson")]).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let mut lines: Vec<String> = answer.text().lines().map(str::to_owned).collect();
        let end: EndLine = serde_json::from_str(&lines.pop().unwrap()).unwrap();
        assert_eq!(end.end.count, lines.len() as u64);
        (lines, end.end)
    };
    let (lines, end) = read(EVENTS);
    assert_eq!((lines.len() as u64, end.next, end.head.position), (tip, None, tip.to_string()));
    let first: StoredEvent = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(first.position, "1");
    let (lines, end) = read(&format!("{EVENTS}?limit=7"));
    assert_eq!((lines.len(), end.next.as_deref()), (7, Some("7")));
    // Data with line feeds stays on its line.
    service.append(event("lines", "lines").replace(r#"{"n":1}"#, "{\"n\":\n1}")).expect(201);
    let (lines, _) = read(&format!("{EVENTS}?stream=lines"));
    assert!(lines.len() == 1 && lines[0].contains("{\"n\": 1}"), "{lines:?}");
}

#[test]
fn more_lines_than_a_page_holds_are_streamed() {
    let service = with_events(2_300);
    let answer = service.get_with(EVENTS, &[("Accept", "application/x-ndjson")]).expect(200);
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let positions: Vec<u64> = answer
        .text()
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["position"].as_str()?.parse().ok())
        .collect();
    assert_eq!(positions, (1..=service.tip()).collect::<Vec<_>>());
    assert!(answer.text().lines().last().unwrap().starts_with(r#"{"end":"#));
    let page = service.get(&format!("{EVENTS}?limit=5000")).expect(200).json();
    assert_eq!((positions_of(&page), &page["next"]), (1_000, &json!("1000")));
}

#[test]
fn reads_past_their_number_are_refused() {
    let service = TestService::with(ServerLimits { max_reads: 0, ..ServerLimits::default() });
    let refused = service.get(EVENTS);
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.expect_problem(503, "overloaded");
    service.append(event("1", "s")).expect(201);
}

#[test]
fn answers_that_nobody_takes_do_not_fill_the_memory() {
    let limits = ServerLimits { max_answer_bytes_in_flight: 1_000_000, ..ServerLimits::default() };
    let service = TestService::with(limits);
    let large = format!("\"{}\"", "x".repeat(30_000));
    for n in 0..600 {
        service.append(event(&n.to_string(), "s").replace(r#"{"n":1}"#, &large)).expect(201);
    }
    // 18 MB: more than the sockets between us hold.
    let mut idle = service.connect();
    let target = format!("{EVENTS}?limit=1000");
    idle.send(head("GET", &target, &[("Accept", "application/x-ndjson")], None).as_bytes());
    std::thread::sleep(Duration::from_millis(300));
    let tip = service.tip();
    let refused = service.get(&target);
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.expect_problem(503, "overloaded");
    service.append(event("last", "s")).expect(201);
    // Once it is taken it is whole, and about the moment it was asked for.
    let answer = idle.answer().expect(200);
    let lines: Vec<&str> = answer.text().lines().collect();
    let end: EndLine = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!((end.end.count, end.end.next, end.end.head.position), (tip, None, tip.to_string()));
    service.get(&target).expect(200);
}

fn positions_of(page: &Value) -> usize {
    positions(page).len()
}

#[test]
fn filters_must_all_hold() {
    let service = TestService::start();
    let tagged = |id: &str, extra: &str| event(id, "s").replace(r#""data""#, &format!(r#"{extra},"data""#));
    service.append(tagged("1", r#""actor":"erika","session":"a","tags":"x y""#)).expect(201);
    service
        .append(tagged("2", r#""actor":"erika","session":"b","run":"r","call":"c","agent":"g""#))
        .expect(201);
    service.append(event("3", "other").replace("x.happened", "x.else")).expect(201);
    let ids = |query: &str| {
        let page = service.get(&format!("{EVENTS}?{query}")).expect(200).json();
        let ids = page["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["event"]["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>().join(",")
    };
    assert_eq!(ids("actor=erika"), "1,2");
    assert_eq!(ids("actor=erika&session=b"), "2");
    assert_eq!(ids("run=r&call=c&agent=g"), "2");
    assert_eq!(ids("tag=y"), "1");
    assert_eq!(ids("type=x.else"), "3");
    assert_eq!(ids("type=x.else&type=x.happened"), "1,2,3");
    assert_eq!(ids("stream=other"), "3");
    assert_eq!(ids("actor=nobody"), "");
    assert_eq!(ids("actor=erika&before=2020-01-01T00:00:00Z"), "");
    assert_eq!(ids("actor=erika&since=2020-01-01T00:00:00Z"), "1,2");
    assert_eq!(ids("actor=erika&since=2020-01-01T01:00:00%2B01:00&limit=1"), "1");
}

#[test]
fn a_stream_is_tagged_with_the_version_that_was_seen() {
    let service = with_events(9);
    let stream = "/v1/ledgers/main/streams/s0/events";
    let tag = |target: &str| service.get(target).expect(200).header("etag").map(str::to_owned);
    assert_eq!(tag(stream).as_deref(), Some("\"v3\""));
    assert_eq!(
        tag(&format!("{stream}?limit=2")).as_deref(),
        Some("\"v2\""),
        "an append on half the stream must fail"
    );
    let tip = service.tip();
    assert_eq!(tag(&format!("{stream}?after={tip}")).as_deref(), Some("\"v3\""));
    assert_eq!(tag(&format!("{stream}?type=x")), None);
    assert_eq!(tag("/v1/ledgers/main/streams/none/events"), None);
    assert_eq!(service.get("/v1/ledgers/main/streams/none/events").expect(200).json()["events"], json!([]));
}

#[test]
fn a_read_that_waits_hears_of_the_next_event() {
    let service = TestService::start();
    let tip = service.tip();
    let target = format!("{EVENTS}?after={tip}&type=x.happened&wait=10s");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| service.get(&target).expect(200).json());
        std::thread::sleep(Duration::from_millis(100));
        service.append(event("else", "s").replace("x.happened", "x.else")).expect(201);
        std::thread::sleep(Duration::from_millis(100));
        service.append(event("now", "s")).expect(201);
        let page = waiting.join().unwrap();
        assert_eq!(page["events"][0]["event"]["id"], "now");
    });
    let began = Instant::now();
    let page = service.get(&format!("{EVENTS}?after={}&wait=200ms", service.tip())).expect(200).json();
    assert_eq!(page["events"], json!([]));
    assert!((Duration::from_millis(200)..Duration::from_secs(5)).contains(&began.elapsed()));
}

#[test]
fn state_that_is_asked_for_is_waited_for() {
    let service = TestService::start();
    let tip = service.tip();
    let fresh = |position: u64| [("Ledger-Min-Position", position.to_string())];
    let read = |target: &str, headers: &[(&str, String)]| {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        service.get_with(target, &headers)
    };
    for target in [EVENTS, "/v1/ledgers/main/head", "/v1/ledgers/main/events/1"] {
        read(target, &fresh(tip)).expect(200);
    }
    let (wanted, wanted_headers) = (tip + 1, fresh(tip + 1));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| read("/v1/ledgers/main/head", &wanted_headers).expect(200).json());
        std::thread::sleep(Duration::from_millis(100));
        service.append(event("1", "s")).expect(201);
        assert_eq!(waiting.join().unwrap()["position"], wanted.to_string());
    });
    let problem = read(EVENTS, &fresh(tip + 1_000)).expect_problem(503, "projection-behind");
    assert_eq!((&problem["position"], &problem["retryable"]), (&json!(wanted.to_string()), &json!(true)));
    for bad in ["0", "-1", "x", ""] {
        service.get_with(EVENTS, &[("Ledger-Min-Position", bad)]).expect_problem(400, "bad-position");
    }
}

#[test]
fn places_that_are_none_are_refused() {
    let service = TestService::start();
    let tip = service.tip();
    for position in ["0", "-1", "18446744073709551616", "1.0", "x", "+1", "%00", "1%20"] {
        service.get(&format!("{EVENTS}/{position}")).expect_problem(400, "bad-position");
    }
    for query in ["after=-1", "after=18446744073709551616", "after=x", "after=", "until=0", "until=-1"] {
        service.get(&format!("{EVENTS}?{query}")).expect_problem(400, "bad-position");
    }
    for target in [
        format!("{EVENTS}/{}", tip + 1),
        format!("{EVENTS}/18446744073709551615"),
        format!("{EVENTS}?after={}", tip + 1),
    ] {
        let problem = service.get(&target).expect_problem(404, "not-found");
        assert_eq!(problem["tip"], tip.to_string());
    }
    service.get(&format!("{EVENTS}?until=18446744073709551615")).expect(200);
}

#[test]
fn parameters_that_are_unknown_or_make_no_sense_are_refused() {
    let service = TestService::start();
    for query in [
        "limmit=5",
        "limit=0",
        "limit=-1",
        "limit=x",
        "limit=1&limit=2",
        "dir=up",
        "since=yesterday",
        "since=2026-01-01",
        "wait=5",
        "wait=61s",
        "wait=-1s",
        "dir=backward&after=1",
        "dir=backward&wait=1s",
        "actor",
        "actor=%00",
        "actor=%ff",
        "stream=a&stream=b",
    ] {
        service.get(&format!("{EVENTS}?{query}")).expect_problem(400, "bad-query");
    }
    service.get("/v1/ledgers/main/streams/a/events?stream=b").expect_problem(400, "bad-query");
    for target in [
        "/v1/ledgers/main/head?x=1",
        "/v1/ledgers/main/events/1?x=1",
        "/v1/ledgers?x=1",
        "/v1/ledgers/main?x=1",
    ] {
        service.get(target).expect_problem(400, "bad-query");
    }
    service.get_with(EVENTS, &[("Accept", "text/html")]).expect_problem(406, "not-acceptable");
}
