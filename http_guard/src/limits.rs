//! Every limit of a request's head, chunk lines and trailer.

/// Request line and header fields of one request, bytes.
pub const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Header fields of one request.
pub const MAX_HEADERS: usize = 64;
/// The request target (path and query), bytes.
pub const MAX_TARGET_BYTES: usize = 8 * 1024;
/// The request method, bytes.
pub const MAX_METHOD_BYTES: usize = 24;
/// One chunk's size line, extensions included, bytes.
pub const MAX_CHUNK_LINE_BYTES: usize = 256;
/// The trailer section of a chunked body, bytes.
pub const MAX_TRAILER_BYTES: usize = 4 * 1024;

const _: () = assert!(MAX_TARGET_BYTES < MAX_HEAD_BYTES, "a target is part of a head");
