//! The reasons for which bytes are no request that every program frames alike.

/// The reason for which a connection's next bytes are not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A line feed ends a line without a carriage return.
    #[error("the request head has a line feed without a carriage return before it")]
    BareLineFeed,
    /// A carriage return stands without a line feed.
    #[error("the request head has a carriage return without a line feed after it")]
    BareCarriageReturn,
    /// An empty line stands before the request line.
    #[error("an empty line stands before the request line")]
    EmptyLineBeforeRequest,
    /// The preface of HTTP/2.
    #[error("the request speaks HTTP/2, which is not served on a clear connection; use HTTP/1.1")]
    Http2,
    /// A request line of another form, or of another version.
    #[error("the request line is not `method target HTTP/1.1`")]
    RequestLine,
    /// A method longer than [`MAX_METHOD_BYTES`](crate::MAX_METHOD_BYTES).
    #[error("the request method is not a token of at most 24 characters")]
    Method,
    /// A target that is no path, or holds characters that RFC 3986 does not allow.
    #[error("the request target is not a path of RFC 3986 characters; percent-encode the others")]
    Target,
    /// A target longer than [`MAX_TARGET_BYTES`](crate::MAX_TARGET_BYTES).
    #[error("the request target is longer than 8192 bytes")]
    TargetTooLong,
    /// An absolute target whose host is not that of the Host field.
    #[error("the request target names another host than the Host field")]
    TargetOfAnotherHost,
    /// A field's name that is no token, a space before the colon, or a folded line.
    #[error("a header field's name is not a token followed directly by a colon, or the field is folded")]
    HeaderName,
    /// A control character in a field's value.
    #[error("a header field's value holds a control character")]
    HeaderValue,
    /// A head longer than [`MAX_HEAD_BYTES`](crate::MAX_HEAD_BYTES).
    #[error("the request head is longer than 16384 bytes")]
    HeadTooLarge,
    /// More fields than [`MAX_HEADERS`](crate::MAX_HEADERS).
    #[error("the request head has more than 64 header fields")]
    TooManyHeaders,
    /// HTTP/1.1 without a Host field.
    #[error("an HTTP/1.1 request needs a Host field")]
    HostMissing,
    /// Several Host fields.
    #[error("the Host field is given more than once")]
    HostRepeated,
    /// A Host field that is no host.
    #[error("the Host field is not a host with an optional port")]
    HostMalformed,
    /// Several Content-Length fields, equal or not.
    #[error("the Content-Length field is given more than once")]
    LengthRepeated,
    /// A Content-Length that is no plain decimal number.
    #[error("the Content-Length field is not a decimal number of bytes")]
    LengthMalformed,
    /// Content-Length beside Transfer-Encoding.
    #[error("Content-Length and Transfer-Encoding stand together")]
    LengthWithEncoding,
    /// Several Transfer-Encoding fields.
    #[error("the Transfer-Encoding field is given more than once")]
    EncodingRepeated,
    /// A Transfer-Encoding other than `chunked`.
    #[error("the Transfer-Encoding is not exactly `chunked`")]
    EncodingUnsupported,
    /// A Transfer-Encoding in HTTP/1.0.
    #[error("an HTTP/1.0 request has no Transfer-Encoding")]
    EncodingInHttp10,
    /// A chunk's size line of another form.
    #[error("a chunk does not begin with its size in hexadecimal on a line of its own")]
    ChunkSize,
    /// A size line longer than [`MAX_CHUNK_LINE_BYTES`](crate::MAX_CHUNK_LINE_BYTES).
    #[error("a chunk's size line is longer than 256 bytes")]
    ChunkLineTooLong,
    /// A chunk that goes on past its size.
    #[error("a chunk is not followed by the end of its line: its size is wrong")]
    ChunkEnd,
    /// A trailer line that is no field.
    #[error("the trailer section is malformed")]
    Trailer,
    /// A trailer section longer than [`MAX_TRAILER_BYTES`](crate::MAX_TRAILER_BYTES).
    #[error("the trailer section is longer than 4096 bytes")]
    TrailerTooLarge,
}
