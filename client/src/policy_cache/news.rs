//! Messages of the service about the state of a policy cache.

use bitacora_api::ProblemAnswer;
use bitacora_governance::ReplicaNews;

use crate::messages::{Fields, MessageError, read_fields};

/// A message of the service.
#[derive(Debug)]
pub(crate) enum ServiceMessage {
    /// The state, or a change of it.
    State(Box<ReplicaNews>),
    /// The stream ends.
    Ending,
    /// The stream ends on an error.
    Failed { what: String, is_retryable: bool },
    /// A message that is not for us.
    Other,
}

pub(crate) fn read_news(block: &[u8]) -> Result<ServiceMessage, MessageError> {
    let Fields { kind, data, .. } = read_fields(block);
    match (kind, data) {
        (b"state" | b"at", Some(data)) => serde_json::from_slice(data)
            .map(|news| ServiceMessage::State(Box::new(news)))
            .map_err(|_| MessageError),
        (b"closing" | b"lagged", _) => Ok(ServiceMessage::Ending),
        (b"failed", Some(problem)) => {
            let ProblemAnswer { detail, code, retryable, .. } =
                serde_json::from_slice(problem).map_err(|_| MessageError)?;
            Ok(ServiceMessage::Failed { what: format!("{detail} ({code})"), is_retryable: retryable })
        }
        _ => Ok(ServiceMessage::Other),
    }
}
