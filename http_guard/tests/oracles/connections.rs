//! Random connections: requests that are right, and requests with something odd in one place.

use bitacora_testkit::SeededRng;

/// The parts of request lines, of which the first ones are right.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "OPTIONS", "M-SEARCH", "get", "G T"];
const TARGETS: [&str; 8] = ["/", "/a/b?c=d", "/%41", "http://h/x", "*", "/a b", "h:80", "/\u{7f}"];
const VERSIONS: [&str; 4] = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/2.0"];
const HOSTS: [&str; 6] = ["Host: h", "host:h", "HOST: \th\t", "Host: h:80", "Host: h h", "Host : h"];
const FIELDS: [&str; 12] = [
    "X: 1",
    "x:",
    "Accept: */*",
    "X-Y: a:b, c",
    "Cookie: a=b; c=d",
    "X: \u{e9}",
    "Host: h",
    " folded",
    "no colon",
    "Content-Length: 0",
    "Transfer-Encoding: identity",
    "Content-Length: 4, 4",
];
const LENGTHS: [&str; 9] = [
    "Content-Length",
    "content-length",
    "Content-length",
    "Content_Length",
    "Content-Length ",
    " Content-Length",
    "Content-Lengt",
    "X-Content-Length",
    "CONTENT-LENGTH",
];
const ENCODINGS: [&str; 8] = [
    "Transfer-Encoding: chunked",
    "transfer-encoding:chunked",
    "Transfer-Encoding: Chunked",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: \tchunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding: xchunked",
];
const BODIES: [&str; 5] = ["abcd", "", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "0\r\n\r\n", "\r\n\r\n"];

/// Mostly one of the first parts; now and then any.
fn one_of<'a>(random: &mut SeededRng, parts: &[&'a str]) -> &'a str {
    if random.percent(6) { random.one_of(parts) } else { parts[random.below(3.min(parts.len()))] }
}

fn line_end(random: &mut SeededRng) -> &'static str {
    if random.percent(1) { random.one_of(&["\n", "\r", "\r\r\n", "\r\n\r\n"]) } else { "\r\n" }
}

/// Makes one to four requests behind each other.
pub(crate) fn connection(random: &mut SeededRng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(4_usize) {
        request(random, &mut bytes);
    }
    if random.percent(20) {
        let at = random.below(bytes.len());
        bytes[at] = random.one_of(b"\r\n\0 :;09aF\x80");
    }
    bytes
}

fn request(random: &mut SeededRng, bytes: &mut Vec<u8>) {
    let (method, target) = (one_of(random, &METHODS), one_of(random, &TARGETS));
    let mut lines = vec![format!("{method} {target} {}", one_of(random, &VERSIONS))];
    lines.push(one_of(random, &HOSTS).to_owned());
    for _ in 0..random.below(3_usize) {
        lines.push(
            if random.percent(10) { random.one_of(&FIELDS) } else { random.one_of(&FIELDS[..5]) }.to_owned(),
        );
    }
    let body = random.one_of(&BODIES);
    let mut content = body.as_bytes().to_vec();
    let kind = random.below(10);
    if kind < 4 || kind == 9 {
        let length = if random.percent(5) { "+4".to_owned() } else { body.len().to_string() };
        lines.push(format!("{}: {length}", one_of(random, &LENGTHS)));
    }
    if (4..8).contains(&kind) || (kind == 9 && random.percent(20)) {
        lines.push(one_of(random, &ENCODINGS).to_owned());
        content = chunked(random, body.as_bytes());
    }
    if kind == 8 {
        content.clear();
    }
    for line in lines {
        bytes.extend(line.bytes());
        bytes.extend(line_end(random).bytes());
    }
    bytes.extend(line_end(random).bytes());
    bytes.extend(content);
}

fn chunked(random: &mut SeededRng, body: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    for piece in body.chunks(1 + random.below(7_usize)) {
        let size = match random.below(40) {
            0 => format!("{:x} ", piece.len()),
            1 => format!("0x{:x}", piece.len()),
            2 => format!("{:x}", piece.len() + 1),
            3..10 => format!("{:X};a=\"b\"", piece.len()),
            10..15 => format!("00{:x}", piece.len()),
            _ => format!("{:x}", piece.len()),
        };
        coded.extend(size.bytes());
        coded.extend(line_end(random).bytes());
        coded.extend(piece);
        coded.extend(line_end(random).bytes());
    }
    coded.extend(b"0\r\n");
    if random.percent(20) {
        coded.extend(
            random.one_of(&["T: v\r\n", "T: v\r\nU: w\r\n", "GET / HTTP/1.1\r\n", "T : v\r\n"]).bytes(),
        );
    }
    coded.extend(b"\r\n");
    coded
}
