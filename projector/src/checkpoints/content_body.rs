//! Contents, read from the log.

use bitacora_formats::{MAX_CONTENT_BYTES, Position};
use bitacora_ledger::ReadError;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Checkpoint, ContentLocation};
use crate::models::{LogData, ModelError, ReadModels};

/// A content, or the reason for its absence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentBody {
    /// All of it.
    Bytes(Vec<u8>),
    /// It was sealed under the key of a data subject, which is gone.
    Erased,
    /// Not all of its pieces are recorded, or they do not come to its bytes.
    Missing,
}

/// The reasons for which there is no checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The model does not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The log could not be read where a checkpoint or a content lies.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// The log has something else there than what the model folded.
    #[error("position {0} of the log is not what the model folded")]
    Other(u64),
}

/// The part of an event's data that is asked for.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    document: Option<&'a RawValue>,
}

impl ReadModels {
    /// A content's bytes. Blocks on the disk, where they are not in memory.
    ///
    /// # Errors
    /// The log could not be read.
    pub fn content(&self, content: &ContentLocation) -> Result<ContentBody, ReadError> {
        if let Some(inline) = &content.inline {
            return Ok(ContentBody::Bytes(inline.clone()));
        }
        if content.bytes > MAX_CONTENT_BYTES as u64 {
            return Ok(ContentBody::Missing);
        }
        let mut bytes = Vec::new();
        for piece in &content.pieces {
            let Some(position) = piece.and_then(Position::new) else { return Ok(ContentBody::Missing) };
            match self.log.data(position)? {
                LogData::Event(piece) if (bytes.len() + piece.data.len()) as u64 <= content.bytes => {
                    bytes.extend_from_slice(&piece.data);
                }
                LogData::Erased => return Ok(ContentBody::Erased),
                LogData::Event(_) | LogData::None => return Ok(ContentBody::Missing),
            }
        }
        Ok(if bytes.len() as u64 == content.bytes { ContentBody::Bytes(bytes) } else { ContentBody::Missing })
    }

    /// Returns the document of a checkpoint's state, as JSON; `None` if it has none.
    ///
    /// # Errors
    /// The log could not be read.
    pub fn checkpoint_document(&self, checkpoint: &Checkpoint) -> Result<Option<String>, ReadError> {
        let Some(position) = Position::new(checkpoint.recorded).filter(|_| checkpoint.has_document) else {
            return Ok(None);
        };
        let LogData::Event(event) = self.log.data(position)? else { return Ok(None) };
        let payload: Option<Document<'_>> = serde_json::from_slice(&event.data).ok();
        Ok(payload.and_then(|payload| payload.document).map(|document| document.get().to_owned()))
    }
}
