//! Following: every position once and in order, from any position of the client.

use std::time::{Duration, Instant};

use bitacora_server::{ConnectionTimeouts, ServerLimits};
use serde_json::json;

use crate::event_stream::{EventStream, StreamMessage};
use crate::service::{TestService, event};

const EVENTS: &str = "/v1/ledgers/main/events";
const ACCEPT: (&str, &str) = ("Accept", "text/event-stream");

fn append(service: &TestService, ids: std::ops::Range<u64>, stream: &str) {
    for chunk in ids.collect::<Vec<_>>().chunks(100) {
        let events: Vec<String> = chunk.iter().map(|id| event(&format!("{stream}-{id}"), stream)).collect();
        service.append(format!("[{}]", events.join(","))).expect(201);
    }
}

#[test]
fn a_follower_hears_what_was_and_then_what_is() {
    let service = TestService::start();
    append(&service, 0..1_500, "a");
    let tip = service.tip();
    let mut stream = EventStream::open(&service, EVENTS, &[]);
    let (positions, message) = stream.events();
    assert_eq!(positions, (1..=tip).collect::<Vec<_>>());
    assert_eq!((message.kind.as_deref(), message.id), (Some("caught-up"), Some(tip)));
    assert_eq!(message.data.unwrap(), json!({"position": tip.to_string()}));
    for round in 0..20 {
        append(&service, round * 10..round * 10 + 10, "b");
        for expected in tip + round * 10 + 1..=tip + round * 10 + 10 {
            let message = stream.message();
            assert_eq!((message.kind, message.id), (None, Some(expected)));
        }
    }
    // The message is the line that a read as NDJSON answers.
    service.append(event("lines", "s").replace(r#"{"n":1}"#, "{\"n\":\r\n1}")).expect(201);
    let told = stream.message().data.unwrap();
    let lines = service.get_with(&format!("{EVENTS}?stream=s"), &[("Accept", "application/x-ndjson")]);
    assert_eq!(
        told,
        serde_json::from_str::<serde_json::Value>(lines.text().lines().next().unwrap()).unwrap()
    );
}

#[test]
fn a_follower_that_comes_back_goes_on_where_it_was() {
    let service = TestService::start();
    append(&service, 0..50, "a");
    let tip = service.tip();
    let resumed = |headers: &[(&str, &str)], target: &str| {
        let mut stream = EventStream::open(&service, target, headers);
        (stream.ledger.clone(), stream.events().0)
    };
    let (ledger, positions) = resumed(&[("Last-Event-ID", "40")], EVENTS);
    assert_eq!(positions, (41..=tip).collect::<Vec<_>>());
    let full = format!("{ledger}:40");
    assert_eq!(resumed(&[("Last-Event-ID", &full)], EVENTS).1, positions);
    assert_eq!(resumed(&[("Last-Event-ID", &full)], &format!("{EVENTS}?after=7")).1, positions);
    assert_eq!(resumed(&[], &format!("{EVENTS}?after=40")).1, positions);
    assert_eq!(resumed(&[("Last-Event-ID", &tip.to_string())], EVENTS).1, [0; 0]);
    assert_eq!(resumed(&[("Last-Event-ID", "0")], EVENTS).1.len() as u64, tip);
}

#[test]
fn places_that_are_none_are_refused_before_the_stream() {
    let service = TestService::start();
    let tip = service.tip();
    let refused = |id: &str| service.get_with(EVENTS, &[ACCEPT, ("Last-Event-ID", id)]);
    for bad in ["", "x", "-1", "1.0", "18446744073709551616", ":1", "abc:1", "1:1"] {
        let problem = refused(bad).expect_problem(400, "bad-position");
        assert_eq!(problem["errors"][0]["header"], "Last-Event-ID", "{bad}");
    }
    let problem = refused(&(tip + 1).to_string()).expect_problem(404, "not-found");
    assert_eq!(problem["tip"], tip.to_string());
    refused(&u64::MAX.to_string()).expect_problem(404, "not-found");
    refused(&format!("{}:1", "0".repeat(32))).expect_problem(409, "other-ledger");
    let twice = [ACCEPT, ("Last-Event-ID", "1"), ("Last-Event-ID", "1")];
    service.get_with(EVENTS, &twice).expect_problem(400, "bad-header");
    for query in ["limit=5", "dir=backward", "wait=1s", "until=5", "limmit=1"] {
        service.get_with(&format!("{EVENTS}?{query}"), &[ACCEPT]).expect_problem(400, "bad-query");
    }
    service.get_with(&format!("{EVENTS}?after={}", tip + 1), &[ACCEPT]).expect_problem(404, "not-found");
    service.get_with("/v1/ledgers/none/events", &[ACCEPT]).expect_problem(404, "ledger-not-found");
}

#[test]
fn a_filter_holds_for_the_past_and_for_what_happens() {
    let service = TestService::start();
    append(&service, 0..30, "a");
    append(&service, 0..30, "b");
    let target = "/v1/ledgers/main/streams/b/events?type=x.happened&type=x.else";
    let mut stream = EventStream::open(&service, target, &[]);
    let before = stream.events().0;
    assert_eq!(before.len(), 30);
    append(&service, 100..130, "a");
    service.append(event("else", "b").replace("x.happened", "x.else")).expect(201);
    service.append(event("other", "b").replace("x.happened", "x.other")).expect(201);
    append(&service, 100..110, "b");
    let tip = service.tip();
    for expected in (tip - 11..tip - 10).chain(tip - 9..=tip) {
        assert_eq!(stream.message().id, Some(expected));
    }
}

#[test]
fn a_filter_that_matches_nothing_still_moves_the_last_id() {
    let patience =
        ConnectionTimeouts { heartbeat: Duration::from_millis(300), ..ConnectionTimeouts::default() };
    let service = TestService::with(ServerLimits { patience, ..ServerLimits::default() });
    append(&service, 0..1_000, "a");
    let tip = service.tip();
    let mut stream = EventStream::open(&service, &format!("{EVENTS}?stream=none"), &[]);
    let (positions, message) = stream.events();
    assert_eq!((positions, message.id), (vec![], Some(tip)));
    append(&service, 1_000..1_100, "a");
    let mut mark = stream.next().unwrap();
    while mark.id.is_none_or(|id| id < tip + 100) {
        assert_eq!(mark.data, None);
        mark = stream.next().unwrap();
    }
    assert_eq!((mark.id, mark.data), (Some(tip + 100), None));
    assert_eq!(stream.next().unwrap(), StreamMessage::default(), "a heartbeat");
}

#[test]
fn a_service_that_ends_says_so() {
    let mut service = TestService::start();
    let mut stream = EventStream::open(&service, EVENTS, &[]);
    let (_, caught_up) = stream.events();
    service.begin_shutdown();
    let last = stream.message();
    assert_eq!((last.kind.as_deref(), last.retry), (Some("closing"), Some(1_000)));
    assert_eq!(last.data.unwrap(), caught_up.data.unwrap());
    assert_eq!(stream.next(), None);
    let began = Instant::now();
    service.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn one_follower_too_many_is_refused_and_a_place_is_given_back() {
    let service = TestService::with(ServerLimits { max_followers: 2, ..ServerLimits::default() });
    let first = EventStream::open(&service, EVENTS, &[]);
    let _second = EventStream::open(&service, EVENTS, &[]);
    let refused = service.get_with(EVENTS, &[ACCEPT]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.expect_problem(503, "overloaded");
    drop(first);
    // Its end is noticed when something is told to it.
    let began = Instant::now();
    for id in 0.. {
        append(&service, id..id + 1, "a");
        if service.get("/metrics").text().contains("bitacora_http_followers 1\n") {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
    EventStream::open(&service, EVENTS, &[]);
}

#[test]
fn a_follower_that_does_not_read_is_told_and_loses_nothing() {
    const LAG: Duration = Duration::from_secs(1);
    let patience = ConnectionTimeouts { lag: LAG, ..ConnectionTimeouts::default() };
    let service = TestService::with(ServerLimits { patience, ..ServerLimits::default() });
    let mut stream = EventStream::open(&service, EVENTS, &[]);
    let (mut seen, _) = stream.events();
    // 24 MB: more than the sockets between us hold. Each is acknowledged while the follower reads nothing: nobody waits for it.
    let large = format!("\"{}\"", "x".repeat(30_000));
    for id in 0..800 {
        service.append(event(&id.to_string(), "s").replace(r#"{"n":1}"#, &large)).expect(201);
    }
    service.wait_for_lag();
    let (more, last) = stream.events();
    seen.extend(more);
    assert_eq!(last.kind.as_deref(), Some("lagged"));
    assert_eq!(last.data.unwrap()["position"], seen.last().unwrap().to_string());
    assert_eq!(stream.next(), None);
    assert!((seen.len() as u64) < service.tip(), "it lagged");
    // On a busy machine it may lag again, and comes back again.
    loop {
        let id = seen.last().unwrap().to_string();
        let mut stream = EventStream::open(&service, EVENTS, &[("Last-Event-ID", &id)]);
        let (more, last) = stream.events();
        assert!(!more.is_empty(), "it gets on each time");
        seen.extend(more);
        if last.kind.as_deref() == Some("caught-up") {
            break;
        }
        assert_eq!(last.kind.as_deref(), Some("lagged"));
    }
    assert_eq!(seen, (1..=service.tip()).collect::<Vec<_>>());
}

#[test]
fn followers_that_do_not_read_hold_up_no_reader_of_another_ledger() {
    const IDLE: usize = 24;
    const OTHER: &str = "/v1/ledgers/other/events";
    // Room for four pages that wait to be sent: the followers that read nothing have all of it.
    let limits = ServerLimits {
        max_follow_bytes_in_flight: 4 * 16 * 1024 * 1024,
        max_reads: 4,
        ..ServerLimits::default()
    };
    let service = TestService::with(limits);
    service.post("/v1/ledgers", "application/json", r#"{"name":"other"}"#).expect(201);
    service.post(OTHER, "application/json", event("1", "s")).expect(201);
    let large = format!("\"{}\"", "x".repeat(30_000));
    for id in 0..600 {
        service.append(event(&id.to_string(), "s").replace(r#"{"n":1}"#, &large)).expect(201);
    }
    let idle: Vec<EventStream> = (0..IDLE).map(|_| EventStream::open(&service, EVENTS, &[])).collect();
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    for id in 2..12 {
        service.post(OTHER, "application/json", event(&id.to_string(), "s")).expect(201);
        service.get(OTHER).expect(200);
    }
    assert!(began.elapsed() < Duration::from_secs(3), "appends and reads took {:?}", began.elapsed());
    let began = Instant::now();
    let (heard, last) = EventStream::open(&service, OTHER, &[]).events();
    assert_eq!((heard.last(), last.kind.as_deref()), (last.id.as_ref(), Some("caught-up")));
    assert!(heard.len() > 11, "{heard:?}");
    assert!(began.elapsed() < Duration::from_secs(6), "a follower waited {:?}", began.elapsed());
    drop(idle);
}

#[test]
fn many_followers_hear_everything_while_it_is_written() {
    const FOLLOWERS: usize = 1_000;
    const EVENTS_WRITTEN: u64 = 3_000;
    let service = TestService::start();
    let streams: Vec<EventStream> =
        (0..FOLLOWERS).map(|_| EventStream::open(&service, EVENTS, &[])).collect();
    let tip = service.tip();
    let listen = |mut streams: Vec<EventStream>| {
        for stream in &mut streams {
            let mut expected = 1;
            while expected <= tip + EVENTS_WRITTEN {
                let message = stream.message();
                if message.kind.is_none() {
                    assert_eq!(message.id, Some(expected));
                    expected += 1;
                }
            }
        }
        streams
    };
    // They stay until all have heard everything: who leaves is not counted any more.
    let _listened: Vec<_> = std::thread::scope(|scope| {
        let listening: Vec<_> =
            split(streams, 8).into_iter().map(|streams| scope.spawn(|| listen(streams))).collect();
        append(&service, 0..EVENTS_WRITTEN, "a");
        listening.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(service.get("/metrics").text().contains("bitacora_http_followers 1000\n"));
}

fn split(mut streams: Vec<EventStream>, parts: usize) -> Vec<Vec<EventStream>> {
    let each = streams.len().div_ceil(parts);
    let mut split = Vec::new();
    while !streams.is_empty() {
        split.push(streams.drain(..each.min(streams.len())).collect());
    }
    split
}
