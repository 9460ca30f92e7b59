//! Pages and the files that they load, compressed for browsers that take it.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Method, Response, header};
use http_body_util::{BodyExt, Collected};

use crate::limits::{MAX_COMPRESSED_BYTES, MIN_COMPRESSED_BYTES};
use crate::response::{ConsoleBody, body};

/// The media types of pages and of what they load. Streams and downloads go as they are.
const COMPRESSED_TYPES: [&[u8]; 4] = [b"text/html", b"text/css", b"text/javascript", b"image/svg+xml"];

/// Returns `true` for the request of a browser that takes compressed answers. One to a form is not compressed: it may show a token.
pub(crate) fn may_be_compressed(method: &Method, headers: &HeaderMap) -> bool {
    let fields = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|field| field.to_str().ok());
    let mut codings = fields.flat_map(|field| field.split(','));
    method == Method::GET && codings.any(is_gzip)
}

/// Returns `true` for the word `gzip`, unless its weight is 0 (RFC 9110, 12.5.3).
fn is_gzip(coding: &str) -> bool {
    let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
    let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
    name.trim().eq_ignore_ascii_case("gzip") && weight.is_some_and(|weight| weight > 0.0)
}

/// Compresses an answer that is there as a whole, if the browser takes it.
pub(crate) async fn compressed(response: Response<ConsoleBody>, is_taken: bool) -> Response<ConsoleBody> {
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if !COMPRESSED_TYPES.iter().any(|known| kind.starts_with(known)) {
        return response;
    }
    let (mut parts, whole) = response.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let length = length_of(&whole).unwrap_or(u64::MAX);
    if !is_taken || !(MIN_COMPRESSED_BYTES..=MAX_COMPRESSED_BYTES).contains(&length) {
        return Response::from_parts(parts, whole);
    }
    // A body that is there as a whole does not fail.
    let bytes = whole.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let sent = match gzip(&bytes) {
        Some(smaller) => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            smaller
        }
        None => bytes,
    };
    Response::from_parts(parts, body(sent))
}

/// Returns the length of a body that is there as a whole.
fn length_of(whole: &impl BodyExt) -> Option<u64> {
    whole.size_hint().exact()
}

/// Returns the bytes compressed. Nothing that is written to memory fails.
fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use http::StatusCode;

    use super::*;
    use crate::response::text_response;

    fn taken(accepted: &str) -> bool {
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted.parse().unwrap())]);
        may_be_compressed(&Method::GET, &headers)
    }

    #[test]
    fn only_those_who_take_gzip_get_it() {
        for accepted in ["gzip", "gzip, deflate, br, zstd", "br;q=1.0, GZIP;q=0.5", "deflate,gzip ; q=0.001"]
        {
            assert!(taken(accepted), "{accepted}");
        }
        for other in ["", "br", "*", "identity", "gzip;q=0", "gzip; q=0.000", "gzip;q=x", "x-gzip", "gzip2"] {
            assert!(!taken(other), "{other}");
        }
        assert!(!may_be_compressed(&Method::GET, &HeaderMap::new()));
        let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        assert!(!may_be_compressed(&Method::POST, &headers), "it may show a new token");
    }

    async fn sent(media_type: &'static str, text: &str, is_taken: bool) -> (HeaderMap, Bytes) {
        let response = text_response(StatusCode::OK, media_type, text.to_owned());
        let (parts, body) = compressed(response, is_taken).await.into_parts();
        (parts.headers, body.collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn a_page_comes_out_as_it_was() {
        let page = "<p>one of many</p>".repeat(1_000);
        let (headers, bytes) = sent("text/html; charset=utf-8", &page, true).await;
        assert_eq!(headers[header::CONTENT_ENCODING], "gzip");
        assert_eq!(headers[header::VARY], "accept-encoding");
        assert!(bytes.len() * 10 < page.len());
        let mut read = String::new();
        GzDecoder::new(&bytes[..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, page);
    }

    #[tokio::test]
    async fn others_go_as_they_are() {
        let text = "a,b\r\n".repeat(1_000);
        let (small, large) =
            ("x".repeat(100), "x".repeat(usize::try_from(MAX_COMPRESSED_BYTES).unwrap() + 1));
        for (media_type, text, is_taken) in [
            ("text/html", &text, false),
            ("text/csv; charset=utf-8", &text, true),
            ("application/json", &text, true),
            ("text/event-stream", &text, true),
            ("text/html", &small, true),
            ("text/html", &large, true),
        ] {
            let (headers, bytes) = sent(media_type, text, is_taken).await;
            assert!(
                bytes == text.as_bytes() && !headers.contains_key(header::CONTENT_ENCODING),
                "{media_type}"
            );
        }
    }
}
