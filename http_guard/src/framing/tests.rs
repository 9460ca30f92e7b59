//! Requests that must not pass, named for their faults, and a few that must.

use super::*;
use crate::{MAX_CHUNK_LINE_BYTES, MAX_HEADERS, MAX_TARGET_BYTES};

/// Gives the bytes all at once and byte by byte; both must be admitted whole or refused alike.
fn judged(bytes: &[u8]) -> Result<u64, FramingError> {
    let at_once = judged_in_pieces(bytes, bytes.len());
    let byte_by_byte = judged_in_pieces(bytes, 1);
    assert_eq!(at_once, byte_by_byte, "{:?}", String::from_utf8_lossy(bytes));
    at_once
}

fn judged_in_pieces(bytes: &[u8], piece: usize) -> Result<u64, FramingError> {
    let mut framing = RequestFraming::new();
    let (mut taken, mut seen) = (0, 0);
    while seen < bytes.len() {
        seen = (seen + piece).min(bytes.len());
        loop {
            let admitted = framing.admit(&bytes[taken..seen])?;
            taken += admitted;
            if admitted == 0 {
                break;
            }
        }
    }
    assert_eq!(
        (taken, framing.awaited()),
        (bytes.len(), RequestPart::Head),
        "{:?}",
        String::from_utf8_lossy(bytes)
    );
    Ok(framing.heads())
}

fn with_fields(fields: &str) -> Vec<u8> {
    format!("POST /v1/ledgers HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n").into_bytes()
}

#[test]
fn well_formed_requests_pass() {
    let requests: &[(&[u8], u64)] = &[
        (b"GET / HTTP/1.1\r\nHost: localhost:7717\r\n\r\n", 1),
        (b"GET / HTTP/1.0\r\n\r\n", 1),
        (b"GET /a%2Fb?after=1&limit=2 HTTP/1.1\r\nhost: [::1]\r\nx:\r\ny: \t v\t\r\n\r\n", 1),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 1),
        (b"GET http://LOCALHOST/livez HTTP/1.1\r\nHost: localhost\r\n\r\n", 1),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n\n\n\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 2),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nGET /\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n", 1),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: v\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 2),
    ];
    for (request, heads) in requests {
        assert_eq!(judged(request), Ok(*heads), "{:?}", String::from_utf8_lossy(request));
    }
}

#[test]
fn ambiguous_body_lengths_are_refused() {
    for (fields, refusal) in [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", FramingError::LengthWithEncoding),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", FramingError::LengthWithEncoding),
        ("Content-Length: 3\r\nContent-Length: 4\r\n", FramingError::LengthRepeated),
        ("Content-Length: 3\r\nCONTENT-LENGTH: 3\r\n", FramingError::LengthRepeated),
        ("Content-Length: 3, 3\r\n", FramingError::LengthMalformed),
        ("Content-Length: +3\r\n", FramingError::LengthMalformed),
        ("Content-Length: -1\r\n", FramingError::LengthMalformed),
        ("Content-Length: 0x3\r\n", FramingError::LengthMalformed),
        ("Content-Length: 3 3\r\n", FramingError::LengthMalformed),
        ("Content-Length: \r\n", FramingError::LengthMalformed),
        ("Content-Length: 18446744073709551616\r\n", FramingError::LengthMalformed),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", FramingError::EncodingRepeated),
        ("Transfer-Encoding: chunked, identity\r\n", FramingError::EncodingUnsupported),
        ("Transfer-Encoding: chunked, gzip\r\n", FramingError::EncodingUnsupported),
        ("Transfer-Encoding: gzip, chunked\r\n", FramingError::EncodingUnsupported),
        ("Transfer-Encoding: xchunked\r\n", FramingError::EncodingUnsupported),
        ("Transfer-Encoding: \"chunked\"\r\n", FramingError::EncodingUnsupported),
        ("Transfer-Encoding:\r\n", FramingError::EncodingUnsupported),
    ] {
        assert_eq!(judged(&with_fields(fields)), Err(refusal), "{fields:?}");
    }
    let old = b"POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(judged(old), Err(FramingError::EncodingInHttp10));
}

#[test]
fn malformed_field_lines_are_refused() {
    for (fields, refusal) in [
        ("Content-Length : 3\r\n", FramingError::HeaderName),
        (" Folded: 1\r\n", FramingError::HeaderName),
        ("X: 1\r\n folded\r\n", FramingError::HeaderName),
        ("X: 1\r\n\tfolded\r\n", FramingError::HeaderName),
        (": no name\r\n", FramingError::HeaderName),
        ("no colon\r\n", FramingError::HeaderName),
        ("X(y): 1\r\n", FramingError::HeaderName),
        ("X\0: 1\r\n", FramingError::HeaderName),
        ("X: a\0b\r\n", FramingError::HeaderValue),
        ("X: a\u{7f}b\r\n", FramingError::HeaderValue),
        ("X: a\u{1b}b\r\n", FramingError::HeaderValue),
        ("X: a\rb\r\n", FramingError::BareCarriageReturn),
        ("X: a\nContent-Length: 3\r\n", FramingError::BareLineFeed),
        ("X: a\r\r\n", FramingError::BareCarriageReturn),
    ] {
        assert_eq!(judged(&with_fields(fields)), Err(refusal), "{fields:?}");
    }
    assert_eq!(judged(b"GET / HTTP/1.1\nHost: h\n\n"), Err(FramingError::BareLineFeed));
}

#[test]
fn a_missing_or_second_host_is_refused() {
    for (head, refusal) in [
        ("GET / HTTP/1.1\r\n\r\n", FramingError::HostMissing),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", FramingError::HostRepeated),
        ("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", FramingError::HostRepeated),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", FramingError::HostMalformed),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", FramingError::HostMalformed),
        ("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", FramingError::HostMalformed),
        ("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", FramingError::HostMalformed),
        ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", FramingError::HostMalformed),
        ("GET / HTTP/1.1\r\nHost: a:b:c\r\n\r\n", FramingError::HostMalformed),
        ("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", FramingError::HostMalformed),
        ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", FramingError::TargetOfAnotherHost),
    ] {
        assert_eq!(judged(head.as_bytes()), Err(refusal), "{head:?}");
    }
}

#[test]
fn absurd_request_lines_are_refused() {
    for (line, refusal) in [
        ("", FramingError::EmptyLineBeforeRequest),
        ("GET / HTTP/2.0", FramingError::RequestLine),
        ("GET / HTTP/1.2", FramingError::RequestLine),
        ("GET / http/1.1", FramingError::RequestLine),
        ("GET /", FramingError::RequestLine),
        ("GET  / HTTP/1.1", FramingError::RequestLine),
        ("GET /a b HTTP/1.1", FramingError::RequestLine),
        (" GET / HTTP/1.1", FramingError::RequestLine),
        ("G\"T / HTTP/1.1", FramingError::RequestLine),
        ("GET /\0 HTTP/1.1", FramingError::RequestLine),
        ("PRI * HTTP/2.0", FramingError::Http2),
        ("AN-ENDLESS-METHOD-OF-A-CLIENT / HTTP/1.1", FramingError::Method),
        ("GET relative HTTP/1.1", FramingError::Target),
        ("GET * HTTP/1.1", FramingError::Target),
        ("CONNECT localhost:80 HTTP/1.1", FramingError::Target),
        ("GET https://localhost/ HTTP/1.1", FramingError::Target),
        ("GET /#fragment HTTP/1.1", FramingError::Target),
        ("GET /% HTTP/1.1", FramingError::Target),
        ("GET /%2 HTTP/1.1", FramingError::Target),
        ("GET /%zz HTTP/1.1", FramingError::Target),
        ("GET /\\..\\x HTTP/1.1", FramingError::Target),
        ("GET /\u{e9} HTTP/1.1", FramingError::Target),
        ("GET /{a}|b HTTP/1.1", FramingError::Target),
    ] {
        let request = format!("{line}\r\nHost: localhost\r\n\r\n");
        assert_eq!(judged(request.as_bytes()), Err(refusal), "{line:?}");
    }
}

#[test]
fn heads_past_a_limit_are_refused_and_at_the_limit_pass() {
    let target = |bytes: usize| format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(bytes - 1));
    assert_eq!(judged(target(MAX_TARGET_BYTES).as_bytes()), Ok(1));
    assert_eq!(judged(target(MAX_TARGET_BYTES + 1).as_bytes()), Err(FramingError::TargetTooLong));

    let fields = |count: usize| with_fields(&"X: 1\r\n".repeat(count - 1));
    assert_eq!(judged(&fields(MAX_HEADERS)), Ok(1));
    assert_eq!(judged(&fields(MAX_HEADERS + 1)), Err(FramingError::TooManyHeaders));

    let whole = |bytes: usize| {
        let rest = with_fields("X: \r\n").len();
        with_fields(&format!("X: {}\r\n", "a".repeat(bytes - rest)))
    };
    assert_eq!(judged(&whole(MAX_HEAD_BYTES)), Ok(1));
    assert_eq!(judged(&whole(MAX_HEAD_BYTES + 1)), Err(FramingError::HeadTooLarge));
}

#[test]
fn malformed_chunks_are_refused() {
    let endless = "A".repeat(MAX_CHUNK_LINE_BYTES);
    let long_line = format!("1;{endless}");
    let trailer_field = format!("T: {}\r\n", "a".repeat(100)).repeat(50);
    for (body, refusal) in [
        ("x\r\n", FramingError::ChunkSize),
        ("\r\n", FramingError::ChunkSize),
        ("-1\r\n", FramingError::ChunkSize),
        ("+1\r\n", FramingError::ChunkSize),
        ("0x1\r\n", FramingError::ChunkSize),
        (" 1\r\n", FramingError::ChunkSize),
        ("1 \r\n", FramingError::ChunkSize),
        ("1 ;x\r\n", FramingError::ChunkSize),
        ("1;\u{0}\r\n", FramingError::ChunkSize),
        ("fffffffffffffffff\r\n", FramingError::ChunkSize),
        ("1\nx\r\n", FramingError::BareLineFeed),
        ("1;a\rb\r\n", FramingError::BareCarriageReturn),
        (long_line.as_str(), FramingError::ChunkLineTooLong),
        ("2\r\nxyz\r\n", FramingError::ChunkEnd),
        ("1\r\nx\n0\r\n\r\n", FramingError::ChunkEnd),
        ("0\r\nX : 1\r\n\r\n", FramingError::Trailer),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", FramingError::Trailer),
        ("0\r\nX: \u{0}\r\n\r\n", FramingError::Trailer),
        ("0\r\nX: 1\n\r\n", FramingError::BareLineFeed),
        (&format!("0\r\n{trailer_field}\r\n"), FramingError::TrailerTooLarge),
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        assert_eq!(judged(request.as_bytes()), Err(refusal), "{body:?}");
    }
}

#[test]
fn a_body_is_never_taken_for_a_head() {
    let smuggled = "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n";
    let request =
        format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{smuggled}", smuggled.len());
    assert_eq!(judged(request.as_bytes()), Ok(1));
}

#[test]
fn good_requests_before_a_bad_one_pass_first() {
    let good = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let bytes = [good.as_slice(), good, b"GET / HTTP/1.1\r\n\r\n"].concat();
    let mut framing = RequestFraming::new();
    assert_eq!(framing.admit(&bytes), Ok(good.len() * 2));
    assert_eq!(framing.admit(&bytes[good.len() * 2..]), Err(FramingError::HostMissing));
    assert_eq!(
        (framing.admit(&bytes[good.len() * 2..]), framing.heads()),
        (Err(FramingError::HostMissing), 2)
    );
}

#[test]
fn any_bytes_are_judged_without_a_panic() {
    // A small generator is enough: what matters is odd places for CR, LF, digits and colons.
    let alphabet = b"GET / HTTP/1.1\r\n:\0;0aF%";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..40)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                alphabet[usize::try_from(state % alphabet.len() as u64).unwrap()]
            })
            .collect();
        for start in [
            &b""[..],
            b"GET / HTTP/1.1\r\nHost: h\r\n",
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            let _any_verdict = RequestFraming::new().admit(&[start, &bytes].concat());
        }
    }
}
