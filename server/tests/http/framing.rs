//! Requests that two programs on one connection could read differently.

use crate::service::{TestService, event, head};

#[test]
fn each_ambiguous_request_is_refused_and_ends_the_connection() {
    let service = TestService::start();
    let tip = service.tip();
    let append = event("smuggled", "s");
    let post = |fields: &str| {
        format!(
            "POST /v1/ledgers/main/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{fields}\r\n"
        )
    };
    let length = append.len();
    let chunked = format!("{length:x}\r\n{append}\r\n0\r\n\r\n");
    for (wrong, request) in [
        (
            "length and encoding",
            post(&format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n")) + &chunked,
        ),
        ("two lengths", post(&format!("Content-Length: {length}\r\nContent-Length: {length}\r\n")) + &append),
        ("list of lengths", post(&format!("Content-Length: {length}, {length}\r\n")) + &append),
        ("signed length", post(&format!("Content-Length: +{length}\r\n")) + &append),
        ("chunked not last", post("Transfer-Encoding: chunked, identity\r\n") + &chunked),
        ("two hosts", post(&format!("Host: localhost\r\nContent-Length: {length}\r\n")) + &append),
        ("folded field", post(&format!("X: a\r\n b\r\nContent-Length: {length}\r\n")) + &append),
        ("space before colon", post(&format!("Content-Length : {length}\r\n")) + &append),
        ("nul in a field", post(&format!("X: \0\r\nContent-Length: {length}\r\n")) + &append),
        ("bare line feed", post(&format!("X: a\nContent-Length: {length}\r\n")) + &append),
        ("no host", "GET /livez HTTP/1.1\r\n\r\n".to_owned()),
        ("http/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("no path", "GET livez HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()),
        ("another protocol", "\u{16}\u{3}\u{1}\r\n\r\n".to_owned()),
    ] {
        let mut client = service.connect();
        client.send(request.as_bytes());
        let answer = client.answer();
        assert_eq!(answer.header("connection"), Some("close"), "{wrong}");
        answer.expect_problem(400, "request-framing");
        client.half_close();
        assert!(client.is_ended(), "{wrong}");
    }
    assert_eq!(service.tip(), tip, "nothing was appended");
}

#[test]
fn a_bad_chunk_is_refused_although_the_head_was_good() {
    let service = TestService::start();
    let tip = service.tip();
    for body in ["zz\r\n", "5\r\nabcdefg\r\n0\r\n\r\n", "5\nabcde\r\n0\r\n\r\n", "-1\r\n"] {
        let mut client = service.connect();
        let fields = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
        client.send(head("POST", "/v1/ledgers/main/events", &fields, None).as_bytes());
        client.send(body.as_bytes());
        client.answer().expect_problem(400, "request-framing");
        assert!(client.is_ended(), "{body:?}");
    }
    assert_eq!(service.tip(), tip);
}

#[test]
fn requests_before_a_bad_one_are_answered_in_order() {
    let service = TestService::start();
    let mut client = service.connect();
    let good = head("GET", "/livez", &[], None);
    let append = event("first", "s");
    let post =
        head("POST", "/v1/ledgers/main/events", &[("Content-Type", "application/json")], Some(append.len()));
    client.send(format!("{good}{post}{append}{good}GET /livez HTTP/1.1\r\n\r\n{good}").as_bytes());
    client.answer().expect(200);
    client.answer().expect(201);
    client.answer().expect(200);
    client.answer().expect_problem(400, "request-framing");
    assert!(client.is_ended());
}

#[test]
fn the_stand_in_for_a_refused_head_is_no_request_of_its_own() {
    let service = TestService::start();
    let answer = service.request("GET", "/", &[("Connection", "close")], b"").expect(200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
}

#[test]
fn heads_past_a_limit_are_refused() {
    let service = TestService::start();
    let long = "a".repeat(9_000);
    service.get(&format!("/{long}")).expect_problem(414, "target-too-long");
    service.get_with("/livez", &[("X", &long), ("Y", &long)]).expect_problem(431, "headers-too-large");
    let many: Vec<(&str, &str)> = (0..70).map(|_| ("X", "y")).collect();
    service.get_with("/livez", &many).expect_problem(431, "headers-too-large");
}

#[test]
fn a_chunked_body_in_small_pieces_is_one_body() {
    let service = TestService::start();
    let append = event("chunked", "s");
    let mut client = service.connect();
    let fields = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
    client.send(head("POST", "/v1/ledgers/main/events", &fields, None).as_bytes());
    for piece in append.as_bytes().chunks(7) {
        client.send(format!("{:x}\r\n", piece.len()).as_bytes());
        client.send(piece);
        client.send(b"\r\n");
    }
    client.send(b"0\r\n\r\n");
    client.answer().expect(201);
    client.send(head("GET", "/livez", &[], None).as_bytes());
    client.answer().expect(200);
}

#[test]
fn what_axum_itself_would_refuse_is_a_problem_too() {
    let service = TestService::start();
    service.get("/nowhere").expect_problem(404, "no-such-resource");
    service.get("/v1//ledgers").expect_problem(404, "no-such-resource");
    let answer = service.request("DELETE", "/v1/ledgers/main/events", &[], b"");
    assert!(answer.header("allow").is_some_and(|methods| methods.contains("POST")));
    answer.expect_problem(405, "method-not-allowed");
}
