//! Peers that are slow, silent, or gone halfway.

use std::io::Write;
use std::time::{Duration, Instant};

use bitacora_server::ServerLimits;

use crate::service::{RawClient, TestService, event, head};

const POST: &str = "/v1/ledgers/main/events";
const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

#[test]
fn a_head_that_trickles_in_is_refused_in_time() {
    let service = TestService::impatient();
    let mut client = service.connect();
    let mut sender = client.sender();
    let began = Instant::now();
    std::thread::spawn(move || {
        // Never silent for long, and never at its end.
        let head = "GET /livez HTTP/1.1\r\nX: ".bytes().chain(std::iter::repeat_n(b'x', 200));
        for byte in head {
            if sender.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    client.answer().expect_problem(408, "request-timeout");
    assert!(began.elapsed() < Duration::from_millis(3_500), "before its end");
}

#[test]
fn a_silent_connection_is_ended_without_a_word() {
    let service = TestService::impatient();
    assert!(service.connect().is_ended());
    let mut client = service.connect();
    client.send(head("GET", "/livez", &[], None).as_bytes());
    client.answer().expect(200);
    assert!(client.is_ended(), "also after a request");
}

#[test]
fn a_body_that_stops_is_refused_in_time() {
    let service = TestService::impatient();
    let tip = service.tip();
    let append = event("slow", "s");
    let mut client = service.connect();
    client.send(head("POST", POST, JSON, Some(append.len())).as_bytes());
    client.send(&append.as_bytes()[..20]);
    client.answer().expect_problem(408, "request-timeout");
    assert_eq!(service.tip(), tip);
}

#[test]
fn a_body_that_trickles_forever_is_refused_in_time() {
    let mut limits = ServerLimits::default();
    limits.patience.body_grace = Duration::from_millis(300);
    let service = TestService::with(limits);
    let append = event("trickle", "s");
    let mut client = service.connect();
    client.send(head("POST", POST, JSON, Some(append.len())).as_bytes());
    let began = Instant::now();
    for byte in append.as_bytes() {
        if !client.send_some(&[*byte]) || began.elapsed() > Duration::from_millis(900) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    client.answer().expect_problem(408, "request-timeout");
}

#[test]
fn a_half_closed_connection_gets_its_answer() {
    let service = TestService::start();
    let append = event("half-closed", "s");
    let mut client = service.connect();
    client.send((head("POST", POST, JSON, Some(append.len())) + &append).as_bytes());
    client.half_close();
    client.answer().expect(201);
    assert!(client.is_ended());
}

#[test]
fn a_request_that_is_cut_is_refused() {
    let service = TestService::start();
    let tip = service.tip();
    let append = event("cut", "s");
    let whole = head("POST", POST, JSON, Some(append.len())) + &append;
    let head_bytes = whole.len() - append.len();
    for cut in [1, head_bytes - 1, head_bytes, whole.len() - 1] {
        let mut client = service.connect();
        client.send(&whole.as_bytes()[..cut]);
        client.half_close();
        let code = if cut < head_bytes { "request-framing" } else { "body-cut" };
        client.answer().expect_problem(400, code);
        assert!(client.is_ended());
    }
    let mut client = service.connect();
    let fields = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
    client.send(head("POST", POST, &fields, None).as_bytes());
    client.send(format!("{:x}\r\n{append}\r\n", append.len()).as_bytes());
    client.half_close();
    client.answer().expect_problem(400, "body-cut");
    assert_eq!(service.tip(), tip);
}

#[test]
fn a_peer_that_is_gone_halfway_leaves_the_service_well() {
    let service = TestService::start();
    let append = event("gone", "s");
    for cut in [10, 60, 150] {
        let mut client = service.connect();
        client.send(&(head("POST", POST, JSON, Some(append.len())) + &append).as_bytes()[..cut]);
    }
    service.append(event("after", "s")).expect(201);
}

#[test]
fn a_body_that_came_fast_at_first_has_no_credit_for_later() {
    let mut limits = ServerLimits::default();
    limits.patience.body_grace = Duration::from_millis(300);
    let service = TestService::with(limits);
    let mut client = service.connect();
    // At the slowest rate that is waited for, what came at once would be worth a minute.
    client.send(head("POST", POST, JSON, Some(2 * 1024 * 1024)).as_bytes());
    client.send(&vec![b' '; 1024 * 1024]);
    let began = Instant::now();
    while client.send_some(b" ") && began.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    client.answer().expect_problem(408, "request-timeout");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn one_connection_too_many_is_turned_away_in_time() {
    let service = TestService::with(ServerLimits { max_connections: 2, ..ServerLimits::default() });
    // Nobody waits for these peers: they do not give way.
    let follow = || {
        let mut client = service.connect();
        let events = [("Accept", "text/event-stream")];
        client.send(head("GET", "/v1/ledgers/main/events", &events, None).as_bytes());
        client.read_past(b"caught-up");
        client
    };
    let (first, _second) = (follow(), follow());
    let mut third = service.connect();
    let answer = third.answer();
    assert_eq!(answer.header("retry-after"), Some("1"));
    answer.expect_problem(503, "overloaded");
    assert!(third.is_ended());
    drop(first);
    served(&service);
}

/// A connection that was given a place, as soon as one is free.
fn served(service: &TestService) -> RawClient {
    for _ in 0..200 {
        let mut client = service.connect();
        client.send_some(head("GET", "/livez", &[], None).as_bytes());
        if client.try_answer().is_some_and(|answer| answer.status == 200) {
            return client;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no place was given");
}
