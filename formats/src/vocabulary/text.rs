//! Texts with a bound, and without what a terminal would obey.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::limits::MAX_ATTRIBUTE_BYTES;

/// Why a text cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Without a character.
    #[error("empty; leave it out or give it a value")]
    Empty,
    /// Longer than its limit.
    #[error("{found} bytes long; at most {max} are taken")]
    TooLong {
        /// Bytes of UTF-8.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// Holds a control character.
    #[error("holds a control character")]
    Control,
}

/// A text of 1 to `MAX` bytes without control characters, but for tabs and line feeds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BoundedText<const MAX: usize>(String);

/// The name of a tool, a model, an agent, a rule: 1 to 256 bytes.
pub type Name = BoundedText<256>;

/// The name of an agent, wherever one is meant: as long as an attribute of an event may be.
pub type AgentName = BoundedText<MAX_ATTRIBUTE_BYTES>;

/// A reason, a note or a description in somebody's words: 1 to 2,048 bytes.
pub type Words = BoundedText<2048>;

/// A path of a file or folder, or an address: 1 to 4,096 bytes.
pub type PathText = BoundedText<4096>;

impl<const MAX: usize> BoundedText<MAX> {
    /// Before every text in their order; no text of an event.
    pub const LEAST: Self = Self(String::new());

    /// The text, if it can be taken.
    ///
    /// # Errors
    /// Empty, too long, or with a control character.
    pub fn new(text: impl Into<String>) -> Result<Self, TextError> {
        let text = text.into();
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        if text.len() > MAX {
            return Err(TextError::TooLong { found: text.len(), max: MAX });
        }
        if text.chars().any(|c| c.is_control() && c != '\t' && c != '\n') {
            return Err(TextError::Control);
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> Deref for BoundedText<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Display for BoundedText<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> TryFrom<String> for BoundedText<MAX> {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        Self::new(text)
    }
}

impl<const MAX: usize> From<BoundedText<MAX>> for String {
    fn from(text: BoundedText<MAX>) -> Self {
        text.0
    }
}

impl<const MAX: usize> JsonSchema for BoundedText<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Text{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX })
    }
}

impl<const MAX: usize> std::borrow::Borrow<str> for BoundedText<MAX> {
    fn borrow(&self) -> &str {
        &self.0
    }
}
