//! Contents of channels and writes of tasks, as the events of checkpoints name them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{BoundedList, BoundedText, Count, Name, Sha256Text};

/// Pieces that one content is cut into.
pub const MAX_BLOB_PIECES: usize = bitacora_formats::MAX_CONTENT_PIECES;
/// Bytes of a content that stands in the event itself.
pub const MAX_INLINE_BYTES: usize = 256;
/// The first place among the writes of a task: those of special channels stand before those in order.
const FIRST_WRITE: i64 = -64;
/// The last.
const LAST_WRITE: i64 = 4_095;
/// The content of a channel: named by its digest, by those of its pieces, or here as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointBlob {
    /// The channel.
    pub channel: Name,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ChannelVersion>,
    /// The encoding of its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Name>,
    /// The keyed digest that the content is kept under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Sha256Text>,
    /// The keyed digests that the pieces of a larger content are kept under, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<BoundedList<Sha256Text, 1, MAX_BLOB_PIECES>>,
    /// A small content itself, in hexadecimal: no part of that looks like a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<InlineContent>,
    /// Bytes.
    pub bytes: Count,
    /// Of a write its place among those of its task; without it they are counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<WriteIndex>,
}

/// A content of at most [`MAX_INLINE_BYTES`], written in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InlineContent(Vec<u8>);

/// A text that is no content in hexadecimal, or one that is too long to stand in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no lower-case hexadecimal of at most {MAX_INLINE_BYTES} bytes")]
pub struct InlineError;

/// The place of a write among those of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct WriteIndex(i64);

/// A number that is no place of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no place of a write: {FIRST_WRITE} to {LAST_WRITE}")]
pub struct WriteIndexError(i64);

/// The version of a channel: a number, or a text that sorts as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ChannelVersion {
    /// A number.
    Number(Count),
    /// A text.
    Text(BoundedText<128>),
}

impl InlineContent {
    /// The content, if it is small enough.
    ///
    /// # Errors
    /// Longer than [`MAX_INLINE_BYTES`].
    pub fn new(content: &[u8]) -> Result<Self, InlineError> {
        if content.len() > MAX_INLINE_BYTES { Err(InlineError) } else { Ok(Self(content.to_vec())) }
    }

    /// The content.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<String> for InlineContent {
    type Error = InlineError;

    fn try_from(text: String) -> Result<Self, InlineError> {
        let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        if text.len() > 2 * MAX_INLINE_BYTES || !is_lower {
            return Err(InlineError);
        }
        hex::decode(text).map(Self).map_err(|_| InlineError)
    }
}

impl From<InlineContent> for String {
    fn from(content: InlineContent) -> Self {
        hex::encode(content.0)
    }
}

impl JsonSchema for InlineContent {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "InlineContent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9a-f]{2})*$", "maxLength": 2 * MAX_INLINE_BYTES })
    }
}

impl WriteIndex {
    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for WriteIndex {
    type Error = WriteIndexError;

    fn try_from(number: i64) -> Result<Self, WriteIndexError> {
        if !(FIRST_WRITE..=LAST_WRITE).contains(&number) {
            return Err(WriteIndexError(number));
        }
        Ok(Self(number))
    }
}

impl From<WriteIndex> for i64 {
    fn from(index: WriteIndex) -> Self {
        index.0
    }
}

impl JsonSchema for WriteIndex {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "WriteIndex".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": FIRST_WRITE, "maximum": LAST_WRITE })
    }
}
