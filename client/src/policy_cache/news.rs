//! Messages of the service about the state of a policy cache.

use bitacora_api::ProblemAnswer;
use bitacora_governance::ReplicaNews;

use crate::messages::{Fields, NoMessage, read_fields};

/// A message of the service.
#[derive(Debug)]
pub(crate) enum News {
    /// The state, or a change of it.
    State(Box<ReplicaNews>),
    /// The stream ends.
    Ending,
    /// The stream ends on an error.
    Failed { what: String, is_retryable: bool },
    /// A message that is not for us.
    Other,
}

pub(crate) fn read_news(block: &[u8]) -> Result<News, NoMessage> {
    let Fields { kind, data, .. } = read_fields(block);
    match (kind, data) {
        (b"state" | b"at", Some(data)) => {
            serde_json::from_slice(data).map(|news| News::State(Box::new(news))).map_err(|_| NoMessage)
        }
        (b"closing" | b"lagged", _) => Ok(News::Ending),
        (b"failed", Some(problem)) => {
            let ProblemAnswer { detail, code, retryable, .. } =
                serde_json::from_slice(problem).map_err(|_| NoMessage)?;
            Ok(News::Failed { what: format!("{detail} ({code})"), is_retryable: retryable })
        }
        _ => Ok(News::Other),
    }
}
