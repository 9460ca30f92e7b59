//! The reasons for which a request's bytes are refused before any handler sees them.

use crate::problem::{Code, Problem};

/// The reason for which a connection's next bytes are not passed on. The connection ends with the answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the request head has a line feed without a carriage return before it")]
    BareLineFeed,
    #[error("the request head has a carriage return without a line feed after it")]
    BareCarriageReturn,
    #[error("an empty line stands before the request line")]
    EmptyLineBeforeRequest,
    #[error("the request speaks HTTP/2, which is not served on a clear connection; use HTTP/1.1")]
    Http2,
    #[error("the request line is not `method target HTTP/1.1`")]
    RequestLine,
    #[error("the request method is not a token of at most 24 characters")]
    Method,
    #[error("the request target is not a path of RFC 3986 characters; percent-encode the others")]
    Target,
    #[error("the request target is longer than 8192 bytes")]
    TargetTooLong,
    #[error("the request target names another host than the Host field")]
    TargetOfAnotherHost,
    #[error("a header field's name is not a token followed directly by a colon, or the field is folded")]
    HeaderName,
    #[error("a header field's value holds a control character")]
    HeaderValue,
    #[error("the request head is longer than 16384 bytes")]
    HeadTooLarge,
    #[error("the request head has more than 64 header fields")]
    TooManyHeaders,
    #[error("an HTTP/1.1 request needs a Host field")]
    HostMissing,
    #[error("the Host field is given more than once")]
    HostRepeated,
    #[error("the Host field is not a host with an optional port")]
    HostMalformed,
    #[error("the Content-Length field is given more than once")]
    LengthRepeated,
    #[error("the Content-Length field is not a decimal number of bytes")]
    LengthMalformed,
    #[error("Content-Length and Transfer-Encoding stand together")]
    LengthWithEncoding,
    #[error("the Transfer-Encoding field is given more than once")]
    EncodingRepeated,
    #[error("the Transfer-Encoding is not exactly `chunked`")]
    EncodingUnsupported,
    #[error("an HTTP/1.0 request has no Transfer-Encoding")]
    EncodingInHttp10,
    #[error("a chunk does not begin with its size in hexadecimal on a line of its own")]
    ChunkSize,
    #[error("a chunk's size line is longer than 256 bytes")]
    ChunkLineTooLong,
    #[error("a chunk is not followed by the end of its line: its size is wrong")]
    ChunkEnd,
    #[error("the trailer section is malformed")]
    Trailer,
    #[error("the trailer section is longer than 4096 bytes")]
    TrailerTooLarge,
    #[error("the connection ended inside a request head")]
    HeadCut,
    #[error("the connection ended inside a request body")]
    BodyCut,
    #[error("the request head did not arrive in time")]
    SlowHead,
    #[error("the request body did not arrive in time")]
    SlowBody,
    #[error("the connection kept the service waiting while others needed its place; connect again at once")]
    GaveWay,
}

impl Refusal {
    /// The problem that the client is told.
    pub(crate) fn problem(self) -> Problem {
        let problem = Problem::new(self.code(), self.to_string()).closing();
        if self == Self::GaveWay { problem.with_retry_after(1) } else { problem }
    }

    /// Returns the code of the problem that the client is told of.
    pub(crate) fn code(self) -> Code {
        match self {
            Self::HeadTooLarge | Self::TooManyHeaders => Code::HeadersTooLarge,
            Self::TargetTooLong => Code::TargetTooLong,
            Self::SlowHead | Self::SlowBody => Code::RequestTimeout,
            Self::BodyCut => Code::BodyCut,
            Self::GaveWay => Code::Overloaded,
            _ => Code::RequestFraming,
        }
    }
}
