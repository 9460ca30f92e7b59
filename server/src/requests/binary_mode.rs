//! CloudEvents in binary mode (HTTP binding 1.0.2, section 3.1): attributes in headers, data as body.
//!
//! The attributes are in `ce-` headers. The request is written as the same event in JSON and then read as any other, so that one reader
//! decides what an event is.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bitacora_formats::{check_json, write_json_text};

use crate::problem::{Code, Problem};

/// The prefix of headers that hold attributes.
const PREFIX: &str = "ce-";
/// The media types of the other modes begin with it.
const STRUCTURED: &[u8] = b"application/cloudevents";
/// Members of an event in JSON that are no attributes of this mode: the body and its own header say them.
const OF_THE_BODY: [&str; 3] = ["data", "data_base64", "datacontenttype"];
/// Bytes that a byte of data, or of a header, takes at most as JSON: `\u0001`.
pub(crate) const MAX_WRITTEN_BYTES: usize = 6;

/// `true` where an event's attributes are in the headers.
pub(crate) fn is_binary(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
    let is_structured =
        media_type.get(..STRUCTURED.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(STRUCTURED));
    !is_structured && headers.keys().any(|name| name.as_str().starts_with(PREFIX))
}

/// The same event in JSON.
pub(crate) fn structured(headers: &HeaderMap, body: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut json = vec![b'{'];
    for name in headers.keys() {
        let Some(attribute) = name.as_str().strip_prefix(PREFIX) else { continue };
        if OF_THE_BODY.contains(&attribute) {
            return Err(bad(name.as_str(), "is said by the body and its Content-Type"));
        }
        let mut values = headers.get_all(name).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(bad(name.as_str(), "is given more than once"));
        };
        write_member(attribute, &decoded(name.as_str(), value)?, &mut json);
    }
    if let Some(media_type) = headers.get(header::CONTENT_TYPE) {
        let text = media_type.to_str().map_err(|_| bad("Content-Type", "is not ASCII"))?;
        write_member("datacontenttype", text, &mut json);
        write_data(text, body, &mut json)?;
    } else if !body.is_empty() {
        let detail = "the data of an event whose attributes are in headers needs a Content-Type";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    json.push(b'}');
    Ok(json)
}

fn write_member(name: &str, value: &str, json: &mut Vec<u8>) {
    begin_member(name, json);
    write_json_text(value, json);
}

fn begin_member(name: &str, json: &mut Vec<u8>) {
    if json.len() > 1 {
        json.push(b',');
    }
    write_json_text(name, json);
    json.push(b':');
}

/// JSON as it came, text as a string, and anything else in base64.
fn write_data(media_type: &str, body: &[u8], json: &mut Vec<u8>) -> Result<(), Problem> {
    if body.is_empty() {
        return Ok(());
    }
    if is_json(media_type) {
        check_json(body).map_err(|error| {
            Problem::new(
                crate::errors::code_named(error.kind.code()),
                format!("the data is not JSON: {error}"),
            )
        })?;
        begin_member("data", json);
        json.extend_from_slice(body);
    } else if let Some(text) = text_of(media_type, body) {
        write_member("data", text, json);
    } else {
        write_member("data_base64", &STANDARD.encode(body), json);
    }
    Ok(())
}

/// `application/json`, `text/json`, or a subtype with the suffix `+json`.
fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    subtype == "json" || subtype.ends_with("+json")
}

fn text_of<'a>(media_type: &str, body: &'a [u8]) -> Option<&'a str> {
    let lower = media_type.to_ascii_lowercase();
    let charset = lower.split_once("charset=").map(|(_, charset)| charset.trim_matches(['"', ' ']));
    let is_utf8 =
        charset.is_none_or(|charset| charset.starts_with("utf-8") || charset.starts_with("us-ascii"));
    let text = std::str::from_utf8(body).ok()?;
    let is_clean = !text.contains(|character: char| character.is_control() && !"\t\r\n".contains(character));
    (essence(media_type).starts_with("text/") && is_utf8 && is_clean).then_some(text)
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// A header's value as the attribute that it stands for: quotes around it are taken away, then percent-encoding (section 3.1.3.2).
fn decoded(name: &str, value: &HeaderValue) -> Result<String, Problem> {
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| bad(name, "is not UTF-8"))?;
    let text = match text.strip_prefix('"') {
        None => text.to_owned(),
        Some(quoted) => unquoted(quoted).ok_or_else(|| bad(name, "begins with a quote that does not end"))?,
    };
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit =
                    || char::from(bytes.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let pair = digit().zip(digit());
                let (high, low) = pair.ok_or_else(|| bad(name, "holds a % without two digits; send %25"))?;
                high << 4 | low
            }
            plain => plain,
        });
    }
    String::from_utf8(decoded).map_err(|_| bad(name, "is not UTF-8 once it is decoded"))
}

fn unquoted(quoted: &str) -> Option<String> {
    let (mut text, mut characters) = (String::with_capacity(quoted.len()), quoted.chars());
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(text),
            '\\' => text.push(characters.next()?),
            plain => text.push(plain),
        }
    }
}

fn bad(name: &str, fault: &str) -> Problem {
    Problem::new(Code::BadHeader, format!("the header {name} {fault}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static("?")));
        }
        map
    }

    fn written(fields: &[(&'static str, &'static str)], body: &[u8]) -> Result<serde_json::Value, Code> {
        let json = structured(&headers(fields), body).map_err(|problem| problem.code())?;
        Ok(serde_json::from_slice(&json).unwrap())
    }

    #[test]
    fn attributes_and_data_of_every_kind_become_members() {
        let with = |kind: &'static str, body: &[u8]| {
            written(&[("ce-id", "1"), ("content-type", kind)], body).map(|mut event| {
                event.as_object_mut().unwrap().remove("id");
                event
            })
        };
        assert_eq!(
            with("application/json", b"{\"a\":1}"),
            Ok(json!({"datacontenttype": "application/json", "data": {"a": 1}}))
        );
        assert_eq!(with("a/b+JSON", b" 1 "), Ok(json!({"datacontenttype": "a/b+JSON", "data": 1})));
        assert_eq!(
            with("text/plain", "\u{fc} \"%".as_bytes()),
            Ok(json!({"datacontenttype": "text/plain", "data": "\u{fc} \"%"}))
        );
        assert_eq!(
            with("text/plain; charset=latin1", b"\xfc"),
            Ok(json!({"datacontenttype": "text/plain; charset=latin1", "data_base64": "/A=="}))
        );
        assert_eq!(
            with("image/png", b"\x01"),
            Ok(json!({"datacontenttype": "image/png", "data_base64": "AQ=="}))
        );
        assert_eq!(with("text/plain", b""), Ok(json!({"datacontenttype": "text/plain"})));
        assert_eq!(written(&[("ce-id", "1")], b""), Ok(json!({"id": "1"})));
        assert_eq!(written(&[("ce-id", "1")], b"x"), Err(Code::UnsupportedMediaType));
        // The data cannot leave its member.
        assert_eq!(with("application/json", b"1,\"id\":\"2\""), Err(Code::NotJson));
        assert_eq!(with("application/json", b"{\"a\":1,\"a\":2}"), Err(Code::DuplicateKey));
    }

    /// The example of the binding, section 3.1.3.2, among them.
    #[test]
    fn values_are_unquoted_and_decoded_once() {
        for (value, meant) in [
            ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro \u{20ac} \u{1f600}"),
            ("plain", "plain"),
            ("100%25", "100%"),
            ("%252f", "%2f"),
            ("\"a \\\"b\\\\\"", "a \"b\\"),
            ("a \"b\"", "a \"b\""),
        ] {
            assert_eq!(decoded("ce-x", &HeaderValue::from_static(value)).unwrap(), meant, "{value}");
        }
        for bad in ["100%", "%2", "%zz", "%ff", "\"a", "\"a\"b", "\"a\\"] {
            assert_eq!(written(&[("ce-x", bad)], b""), Err(Code::BadHeader), "{bad}");
        }
        assert_eq!(written(&[("ce-x", "1"), ("ce-x", "2")], b""), Err(Code::BadHeader));
        for name in ["ce-data", "ce-data_base64", "ce-datacontenttype"] {
            assert_eq!(written(&[(name, "1")], b""), Err(Code::BadHeader), "{name}");
        }
    }

    #[test]
    fn only_what_has_attributes_in_headers_and_is_of_no_other_mode_is_binary() {
        assert!(is_binary(&headers(&[("ce-id", "1"), ("content-type", "application/json")])));
        assert!(is_binary(&headers(&[("ce-id", "1")])));
        assert!(!is_binary(&headers(&[("content-type", "application/json")])));
        assert!(!is_binary(&headers(&[("ce-id", "1"), ("content-type", "Application/CloudEvents+json")])));
    }
}
