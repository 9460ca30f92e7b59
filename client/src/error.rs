//! Why there is no answer, or a no.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::answers::Problem;
use crate::limits::ANSWER_PATIENCE;
use crate::service_url::ServiceUrl;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody takes the connection. Nothing was sent.
    #[error("{url}: {source}; is the service running?")]
    Connect {
        /// Where.
        url: ServiceUrl,
        /// What the system says.
        source: io::Error,
    },
    /// The connection broke on the way: whether the service did what was asked is unknown.
    #[error("{url}: the connection broke: {what}")]
    Broken {
        /// Where.
        url: ServiceUrl,
        /// How.
        what: String,
    },
    /// Nothing came in time: whether the service did what was asked is unknown.
    #[error("{url}: nothing came for {} s", ANSWER_PATIENCE.as_secs())]
    Late {
        /// Where.
        url: ServiceUrl,
    },
    /// Whoever answers is no such service, or one of another version.
    #[error("{url}: an answer that is not what a bitacora service says; check the address")]
    Strange {
        /// Where.
        url: ServiceUrl,
    },
    /// A content is larger than any that is taken. Nothing was sent.
    #[error("a content of {bytes} bytes; at most {most} are taken")]
    TooLarge {
        /// How many it has.
        bytes: usize,
        /// How many are taken.
        most: usize,
    },
    /// The service says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The service's own no.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// What it says.
    pub problem: Box<Problem>,
    /// When to ask again.
    pub retry_after: Option<Duration>,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    /// In characters that a terminal only shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { detail, code, status, .. } = &*self.problem;
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
    /// Whether the same request may be answered by the next try: nobody answered, or who did says so.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Broken { .. } | Self::Late { .. } => true,
            Self::Strange { .. } | Self::TooLarge { .. } => false,
            Self::Refused(refusal) => refusal.problem.retryable,
        }
    }

    /// Whether the same question will be answered in a while.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.code() == Some("projection-behind")
    }

    /// Returns `true` if the service answered 401: no token, or an unknown one.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.code() == Some("unauthorized")
    }

    /// What the service calls its no.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(&refusal.problem.code),
            _ => None,
        }
    }

    /// How long the service asks to wait before the next try.
    #[must_use]
    pub fn asked_pause(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }
}
