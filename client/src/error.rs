//! The errors of requests: no answer, or a refusal.

use std::fmt;
use std::io;
use std::time::Duration;

use bitacora_api::{ProblemAnswer, ProblemCode};
use bitacora_formats::AnswerSignatureError;

use crate::limits::ANSWER_PATIENCE;
use crate::service_url::ServiceUrl;
use crate::tls::TlsFailure;

/// The reason why there is no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody takes the connection. Nothing was sent.
    #[error("{url}: {source}; is the service running?")]
    Connect {
        /// The service's address.
        url: ServiceUrl,
        /// The system's error.
        source: io::Error,
    },
    /// Client and service do not come to speak TLS. Nothing was sent.
    #[error("{url}: {source}")]
    Tls {
        /// The service's address.
        url: ServiceUrl,
        /// The reason.
        source: Box<TlsFailure>,
    },
    /// The connection broke on the way: whether the service did what was asked is unknown.
    #[error("{url}: the connection broke: {what}")]
    Broken {
        /// The service's address.
        url: ServiceUrl,
        /// The fault.
        what: String,
    },
    /// Nothing came in time: whether the service did what was asked is unknown.
    #[error("{url}: nothing came for {} s", ANSWER_PATIENCE.as_secs())]
    Late {
        /// The service's address.
        url: ServiceUrl,
    },
    /// The answer is not one of this service, or of another version of it.
    #[error("{url}: an answer that is not what a bitacora service says; check the address")]
    Strange {
        /// The service's address.
        url: ServiceUrl,
    },
    /// The ledger did not sign the answer for this request, so another program may have given it. What the service did is unknown.
    #[error(
        "{url}: {why}; another program may answer there, the ledger is another one, or the token is taken no more; `bitacora doctor` says which"
    )]
    Unsigned {
        /// The address that answered.
        url: ServiceUrl,
        /// The fault of the signature.
        why: AnswerSignatureError,
    },
    /// A content is larger than any that is taken. Nothing was sent.
    #[error("a content of {bytes} bytes; at most {most} are taken")]
    TooLarge {
        /// The size of the content, bytes.
        bytes: usize,
        /// The limit, bytes.
        most: usize,
    },
    /// The service refuses the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A refusal by the service.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The problem that the service reports.
    pub problem: Box<ProblemAnswer>,
    /// The pause before a retry, where the service names one.
    pub retry_after: Option<Duration>,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    /// Writes the refusal in characters that a terminal only shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProblemAnswer { detail, code, status, .. } = &*self.problem;
        for text in [detail, " (", code] {
            for character in text.chars() {
                if character.is_control() {
                    character.escape_default().try_for_each(|escaped| fmt::Write::write_char(f, escaped))?;
                } else {
                    fmt::Write::write_char(f, character)?;
                }
            }
        }
        write!(f, ", HTTP {status})")
    }
}

impl ClientError {
    /// Returns `true` if a retry may succeed: nobody answered, or the service says that it is retryable.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Broken { .. } | Self::Late { .. } => true,
            Self::Tls { .. } | Self::Strange { .. } | Self::Unsigned { .. } | Self::TooLarge { .. } => false,
            Self::Refused(refusal) => refusal.problem.retryable,
        }
    }

    /// Returns `true` if a later connection may succeed. Certificates are renewed while others wait.
    #[must_use]
    pub fn may_pass_later(&self) -> bool {
        self.is_passing() || matches!(self, Self::Tls { .. })
    }

    /// Returns `true` if a read model is behind; the same question will be answered after a while.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.is_refused_with(ProblemCode::ProjectionBehind)
    }

    /// Returns `true` if the service answered 401: no token, or an unknown one.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.is_refused_with(ProblemCode::Unauthorized)
    }

    /// Returns `true` if the service refused the request with this code.
    #[must_use]
    pub fn is_refused_with(&self, code: ProblemCode) -> bool {
        self.code() == Some(code.name())
    }

    /// Returns the service's code of the refusal.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(&refusal.problem.code),
            _ => None,
        }
    }

    /// Returns the pause before a retry that the service asks for.
    #[must_use]
    pub fn requested_pause(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }
}
