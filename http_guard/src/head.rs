//! The checks of one whole request head that hyper would let pass and we do not.

use http::uri::Authority;

use crate::{FramingError, MAX_HEADERS, MAX_METHOD_BYTES, MAX_TARGET_BYTES};

/// The length of the body after a head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Sized(u64),
    Chunked,
}

/// The fields that frame a request, each at most once.
#[derive(Default)]
struct FramingFields<'a> {
    host: Option<&'a [u8]>,
    length: Option<&'a [u8]>,
    encoding: Option<&'a [u8]>,
}

/// Checks a whole head, its empty line included, and says how its body is framed.
pub(crate) fn checked_head(head: &[u8]) -> Result<BodyFraming, FramingError> {
    if head.starts_with(b"PRI * HTTP/2") {
        return Err(FramingError::Http2);
    }
    let count = |wanted: u8| head.iter().filter(|byte| **byte == wanted).count();
    if count(b'\r') != count(b'\n') {
        return Err(FramingError::BareCarriageReturn);
    }
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(bytes)) if bytes == head.len() => (),
        Ok(_) => return Err(FramingError::RequestLine),
        Err(error) => return Err(framing_error(error)),
    }
    let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version) else {
        return Err(FramingError::RequestLine);
    };
    if method.len() > MAX_METHOD_BYTES {
        return Err(FramingError::Method);
    }
    let framing = framing_fields(request.headers)?;
    check_host(framing.host, version)?;
    check_target(method, target, framing.host.unwrap_or_default())?;
    body_framing(&framing, version)
}

fn framing_error(error: httparse::Error) -> FramingError {
    match error {
        httparse::Error::HeaderName => FramingError::HeaderName,
        httparse::Error::HeaderValue => FramingError::HeaderValue,
        httparse::Error::TooManyHeaders => FramingError::TooManyHeaders,
        _ => FramingError::RequestLine,
    }
}

fn framing_fields<'a>(fields: &[httparse::Header<'a>]) -> Result<FramingFields<'a>, FramingError> {
    let mut found = FramingFields::default();
    for field in fields {
        let (place, repeated) = if field.name.eq_ignore_ascii_case("host") {
            (&mut found.host, FramingError::HostRepeated)
        } else if field.name.eq_ignore_ascii_case("content-length") {
            (&mut found.length, FramingError::LengthRepeated)
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            (&mut found.encoding, FramingError::EncodingRepeated)
        } else {
            continue;
        };
        if place.replace(field.value).is_some() {
            return Err(repeated);
        }
    }
    Ok(found)
}

fn check_host(host: Option<&[u8]>, version: u8) -> Result<(), FramingError> {
    let Some(host) = host else {
        return if version == 0 { Ok(()) } else { Err(FramingError::HostMissing) };
    };
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%[]:".contains(byte);
    // The second check is the one hyper makes where the target names the host too.
    let well_formed = host.iter().all(allowed) && Authority::try_from(host).is_ok();
    if well_formed { Ok(()) } else { Err(FramingError::HostMalformed) }
}

/// Takes `/path?query`, `http://host/path?query` of the same host, and `*` with OPTIONS.
fn check_target(method: &str, target: &str, host: &[u8]) -> Result<(), FramingError> {
    if target.len() > MAX_TARGET_BYTES {
        return Err(FramingError::TargetTooLong);
    }
    if target == "*" && method == "OPTIONS" {
        return Ok(());
    }
    let path = match target.split_at_checked("http://".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http://") => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            if !authority.as_bytes().eq_ignore_ascii_case(host) {
                return Err(FramingError::TargetOfAnotherHost);
            }
            path
        }
        _ if target.starts_with('/') => target,
        _ => return Err(FramingError::Target),
    };
    if is_path_and_query(path.as_bytes()) { Ok(()) } else { Err(FramingError::Target) }
}

/// RFC 3986 `*( pchar / "/" ) [ "?" query ]`, every `%` followed by two hexadecimal digits.
fn is_path_and_query(text: &[u8]) -> bool {
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        let well_formed = match byte {
            b'%' => [bytes.next(), bytes.next()].iter().all(|digit| digit.is_some_and(u8::is_ascii_hexdigit)),
            b'/' | b'?' | b':' | b'@' => true,
            b'-' | b'.' | b'_' | b'~' => true,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => true,
            other => other.is_ascii_alphanumeric(),
        };
        if !well_formed {
            return false;
        }
    }
    true
}

fn body_framing(fields: &FramingFields<'_>, version: u8) -> Result<BodyFraming, FramingError> {
    match (fields.length, fields.encoding) {
        (None, None) => Ok(BodyFraming::Sized(0)),
        (Some(_), Some(_)) => Err(FramingError::LengthWithEncoding),
        (Some(length), None) => decimal(length).map(BodyFraming::Sized).ok_or(FramingError::LengthMalformed),
        (None, Some(_)) if version == 0 => Err(FramingError::EncodingInHttp10),
        (None, Some(encoding)) if encoding.eq_ignore_ascii_case(b"chunked") => Ok(BodyFraming::Chunked),
        (None, Some(_)) => Err(FramingError::EncodingUnsupported),
    }
}

/// Digits only, at most 18 of them: no sign, no list, nothing that overflows anywhere.
fn decimal(text: &[u8]) -> Option<u64> {
    if !(1..=18).contains(&text.len()) {
        return None;
    }
    text.iter()
        .try_fold(0_u64, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0')))
}
