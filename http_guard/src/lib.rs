//! Strict request framing: where each request of a connection ends, decided before an HTTP library sees a byte.
//!
//! HTTP libraries are lenient where two programs on one connection may disagree (Content-Length beside Transfer-Encoding,
//! several Hosts, bare line feeds). This crate refuses all that a proxy in front could read otherwise. So nothing can be
//! smuggled past the proxy (RFC 9112, sections 2.2, 3.2, 5.1, 6.1, 6.3, 7.1). It is pure: bytes in, a decision out.

mod chunked_body;
mod error;
mod framing;
mod head;
mod limits;

pub use error::FramingError;
pub use framing::{RequestFraming, RequestPart};
pub use limits::{
    MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES, MAX_HEADERS, MAX_METHOD_BYTES, MAX_TARGET_BYTES, MAX_TRAILER_BYTES,
};

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
