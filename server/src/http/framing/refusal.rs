//! The reasons for which a request's bytes are refused before any handler sees them.

use bitacora_http_guard::FramingError;

use crate::problem::{Code, Problem};

/// The reason for which a connection's next bytes are not passed on. The connection ends with the answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Framing(#[from] FramingError),
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
            Self::Framing(FramingError::HeadTooLarge | FramingError::TooManyHeaders) => Code::HeadersTooLarge,
            Self::Framing(FramingError::TargetTooLong) => Code::TargetTooLong,
            Self::Framing(_) | Self::HeadCut => Code::RequestFraming,
            Self::SlowHead | Self::SlowBody => Code::RequestTimeout,
            Self::BodyCut => Code::BodyCut,
            Self::GaveWay => Code::Overloaded,
        }
    }
}
