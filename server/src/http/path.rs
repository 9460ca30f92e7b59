//! Names in paths: percent-decoded exactly once, so `%252f` is the text `%2f` and nothing more.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use bitacora_formats::limits::MAX_STREAM_BYTES;
use bitacora_formats::{LedgerName, Position};

use crate::http::query::parse_position;
use crate::problem::{Code, FaultLocation, Problem};

/// The captures of a path, each checked as what it names.
#[derive(Debug, Default)]
pub(crate) struct PathNames {
    pub(crate) ledger: Option<LedgerName>,
    pub(crate) stream: Option<String>,
    pub(crate) position: Option<Position>,
    /// A tool, an approval with the verb on it, a version: any other part that a path names, as it came.
    pub(crate) named: Option<String>,
    /// The rest of the path after `tile/`, with its slashes.
    pub(crate) tile: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for PathNames {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // The only rejection is a capture that is not UTF-8 once decoded.
        let captures = RawPathParams::from_request_parts(parts, state).await.map_err(|rejection| {
            let code = if parts.uri.path().contains("/streams/") {
                Code::InvalidStreamName
            } else {
                Code::InvalidLedgerName
            };
            Problem::new(code, rejection.body_text())
        })?;
        let mut names = Self::default();
        for (capture, value) in &captures {
            match capture {
                "ledger" => names.ledger = Some(ledger_name(value)?),
                "stream" => names.stream = Some(stream_name(value)?),
                "position" => {
                    names.position =
                        Some(parse_position(value, FaultLocation::Parameter("position".to_owned()))?);
                }
                "approval" | "tool" | "version" | "grant" | "hold" | "agent" | "import" | "call"
                | "projection" | "run" | "thread" | "suggestion" | "session" | "contract" | "harness"
                | "verification" => {
                    names.named = Some(value.to_owned());
                }
                "tile" => names.tile = Some(value.to_owned()),
                _ => (),
            }
        }
        Ok(names)
    }
}

/// The name of a ledger; nothing that could lead out of its folder is one.
pub(crate) fn ledger_name(text: &str) -> Result<LedgerName, Problem> {
    text.parse()
        .map_err(|error: bitacora_formats::IdError| Problem::new(Code::InvalidLedgerName, error.to_string()))
}

fn stream_name(text: &str) -> Result<String, Problem> {
    let fault = if text.is_empty() {
        "a stream's name is not empty".to_owned()
    } else if text.len() > MAX_STREAM_BYTES {
        format!("a stream's name has at most {MAX_STREAM_BYTES} bytes")
    } else if text.chars().any(char::is_control) {
        "a stream's name holds no control characters".to_owned()
    } else {
        return Ok(text.to_owned());
    };
    Err(Problem::new(Code::InvalidStreamName, fault))
}
