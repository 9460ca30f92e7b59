//! Bodies that are too large, wrongly encoded, or bombs.

use std::io::Write;

use bitacora_server::ServerLimits;

use crate::service::{TestService, event, head};

const POST: &str = "/v1/ledgers/main/events";
const REQUEST_BYTES: usize = 4 * 1024 * 1024;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_body_of_100_mb_is_refused_before_it_is_read() {
    let service = TestService::start();
    let tip = service.tip();
    let body = vec![b' '; 100_000_000];
    service.append(&body).expect_problem(413, "request-too-large");
    // Announced and not sent.
    let mut client = service.connect();
    let fields = [("Content-Type", "application/json"), ("Expect", "100-continue")];
    client.send(head("POST", POST, &fields, Some(body.len())).as_bytes());
    client.answer().expect_problem(413, "request-too-large");
    // The same without an announcement.
    let mut client = service.connect();
    let fields = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
    client.send(head("POST", POST, &fields, None).as_bytes());
    for piece in body.chunks(1 << 20) {
        if !client.send_some(&[format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()) {
            break;
        }
    }
    client.answer().expect_problem(413, "request-too-large");
    assert_eq!(service.tip(), tip);
}

#[test]
fn encoded_bodies_are_decoded() {
    let service = TestService::start();
    let gzipped = gzip(event("gzip", "s").as_bytes());
    service.append_with(&[("Content-Encoding", "gzip")], gzipped).expect(201);
    let compressed = zstd::bulk::compress(event("zstd", "s").as_bytes(), 1).unwrap();
    service.append_with(&[("Content-Encoding", "ZSTD")], compressed).expect(201);
    service.append_with(&[("Content-Encoding", "identity")], event("identity", "s")).expect(201);
}

#[test]
fn bombs_are_refused_at_the_limit() {
    let service = TestService::start();
    let tip = service.tip();
    let zeros = vec![0; 64 << 20];
    let bomb = gzip(&zeros);
    assert!(bomb.len() < 512 * 1024);
    service.append_with(&[("Content-Encoding", "gzip")], bomb).expect_problem(413, "request-too-large");
    let bomb = zstd::bulk::compress(&zeros, 1).unwrap();
    assert!(bomb.len() < 64 * 1024);
    service.append_with(&[("Content-Encoding", "zstd")], &bomb).expect_problem(413, "request-too-large");
    // Many small frames, one after another.
    let frame = zstd::bulk::compress(&vec![b' '; 1 << 20], 1).unwrap();
    let frames = frame.repeat(64);
    service.append_with(&[("Content-Encoding", "zstd")], frames).expect_problem(413, "request-too-large");
    assert_eq!(service.tip(), tip);
}

#[test]
fn bodies_that_do_not_decode_are_refused() {
    let service = TestService::start();
    let tip = service.tip();
    let gzipped = gzip(event("cut", "s").as_bytes());
    let compressed = zstd::bulk::compress(event("cut", "s").as_bytes(), 1).unwrap();
    // A window of 2^30 bytes would have to be held for this one.
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0x00, 0x00];
    for (encoding, body) in [
        ("gzip", &gzipped[..gzipped.len() - 1]),
        ("gzip", b"not gzip"),
        ("gzip", b""),
        ("zstd", &compressed[..compressed.len() - 1]),
        ("zstd", b"not zstd"),
        ("zstd", &wide),
    ] {
        service.append_with(&[("Content-Encoding", encoding)], body).expect_problem(400, "bad-encoding");
    }
    for encoding in ["br", "gzip, zstd", "deflate", ""] {
        service
            .append_with(&[("Content-Encoding", encoding)], &gzipped)
            .expect_problem(415, "unsupported-encoding");
    }
    assert_eq!(service.tip(), tip);
}

#[test]
fn bodies_past_the_memory_for_all_of_them_are_refused() {
    let service =
        TestService::with(ServerLimits { max_body_bytes_in_flight: 64 * 1024, ..ServerLimits::default() });
    let answer = service.append(vec![b' '; 1024 * 1024]);
    assert_eq!(answer.header("retry-after"), Some("1"));
    answer.expect_problem(503, "overloaded");
    // The room that was held is given back.
    service.append(event("small", "s")).expect(201);
    service.append(event("small again", "s")).expect(201);
}

#[test]
fn a_body_of_exactly_the_limit_is_read() {
    let service = TestService::start();
    let body = vec![b' '; REQUEST_BYTES];
    service.append(&body).expect_problem(400, "truncated-json");
    service.append([&body[..], b" "].concat()).expect_problem(413, "request-too-large");
}
