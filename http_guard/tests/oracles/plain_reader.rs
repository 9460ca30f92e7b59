//! A second reader, by RFC 9112 and nothing else: it splits lines, and shares no code with the guard or its parser.

use bitacora_testkit::SeededRng;

use crate::admitted::Admitted;
use crate::connections::connection;

/// A request as a strict reader sees it.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) struct PlainRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) body: Vec<u8>,
}

/// Reads one request at the front, and returns the bytes behind it; `None` where it is not plain.
pub(crate) fn read(bytes: &[u8]) -> Option<(PlainRequest, &[u8])> {
    let (first, mut rest) = line(bytes)?;
    let mut words = first.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let (mut hosts, mut lengths, mut encodings) = (0, Vec::new(), Vec::new());
    loop {
        let (field, behind) = line(rest)?;
        rest = behind;
        if field.is_empty() {
            break;
        }
        let (name, value) = field.split_once(':')?;
        if name.is_empty() || name.contains([' ', '\t']) {
            return None;
        }
        let value = value.trim_matches([' ', '\t']);
        match name.to_ascii_lowercase().as_str() {
            "host" => hosts += 1,
            "content-length" => lengths.push(value.to_owned()),
            "transfer-encoding" => encodings.push(value.to_ascii_lowercase()),
            _ => (),
        }
    }
    let is_plain = match version {
        "HTTP/1.1" => hosts == 1,
        "HTTP/1.0" => hosts <= 1 && encodings.is_empty(),
        _ => false,
    };
    if words.next().is_some() || !is_plain {
        return None;
    }
    let (body, rest) = match (lengths.as_slice(), encodings.as_slice()) {
        ([], []) => (Vec::new(), rest),
        ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            let (body, rest) = rest.split_at_checked(length.parse().ok()?)?;
            (body.to_vec(), rest)
        }
        ([], [encoding]) if encoding == "chunked" => chunks(rest)?,
        _ => return None,
    };
    Some((PlainRequest { method: method.to_owned(), target: target.to_owned(), body }, rest))
}

/// A line without its end. Bytes past ASCII stand for themselves.
fn line(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let text: String = bytes[..end].iter().map(|byte| char::from(*byte)).collect();
    (!text.contains(['\r', '\n', '\0'])).then(|| (text, &bytes[end + 2..]))
}

fn chunks(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let (size, behind) = line(rest)?;
        let size = size.split(';').next()?.to_owned();
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let (chunk, behind) = behind.split_at_checked(usize::from_str_radix(&size, 16).ok()?)?;
        body.extend(chunk);
        if chunk.is_empty() {
            rest = behind;
            break;
        }
        rest = behind.strip_prefix(b"\r\n")?;
    }
    loop {
        let (field, behind) = line(rest)?;
        rest = behind;
        if field.is_empty() {
            return Some((body, rest));
        }
        if field.split_once(':')?.0.contains(' ') {
            return None;
        }
    }
}

#[test]
fn what_is_admitted_is_plain() {
    let mut random = SeededRng::new(1);
    let (mut all, mut some) = (0, 0);
    for number in 0..20_000 {
        let connection = connection(&mut random);
        let admitted = Admitted::of(&connection);
        for request in &admitted.requests {
            let bytes = [&request.head[..], &request.body].concat();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let read = read(&bytes);
            assert!(read.is_some_and(|(_, rest)| rest.is_empty()), "connection {number}: {text:?}");
        }
        all += usize::from(admitted.is_all);
        some += usize::from(!admitted.is_all && !admitted.requests.is_empty());
    }
    assert!(all > 5_000 && some > 2_000, "{all} whole, {some} in part: too few of a kind");
}
