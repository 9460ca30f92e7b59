//! Texts with a bound, and without control characters that a terminal would obey.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use bitacora_formats::limits::MAX_ATTRIBUTE_BYTES;

/// An error in a text.
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

/// The characters of a [`BoundedText`], as JSON Schema names them: no control character but tabs and line feeds.
pub const TEXT_PATTERN: &str = "^[^\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}]*$";

/// The name of a stream: 1 to 512 bytes, as an event gives it in `subject`.
pub type StreamName = BoundedText<512>;

/// The name of a tool, a model, an agent, a rule: 1 to 256 bytes.
pub type Name = BoundedText<256>;

/// The name of an agent, wherever one is meant: as long as an attribute of an event may be.
pub type AgentName = BoundedText<MAX_ATTRIBUTE_BYTES>;

/// A reason, a note or a description in somebody's words: 1 to 2,048 bytes.
pub type FreeText = BoundedText<2048>;

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
        check_text(&text, MAX)?;
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Checks that a text with this bound can be taken.
pub(super) fn check_text(text: &str, max: usize) -> Result<(), TextError> {
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    if text.len() > max {
        return Err(TextError::TooLong { found: text.len(), max });
    }
    // Hardly any text holds anything else: only such a one is looked at character by character.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if !is_plain && text.chars().any(|c| c.is_control() && c != '\t' && c != '\n') {
        return Err(TextError::Control);
    }
    Ok(())
}

/// A text that [`BoundedText`] takes, borrowed from the JSON in which it stands, for readers that keep nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedRef<'a, const MAX: usize>(Cow<'a, str>);

/// A [`Name`] on loan.
pub type NameRef<'a> = BoundedRef<'a, 256>;

impl<const MAX: usize> BoundedRef<'_, MAX> {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, to be kept.
    #[must_use]
    pub fn to_text(&self) -> BoundedText<MAX> {
        BoundedText(self.as_str().to_owned())
    }
}

impl<'a, const MAX: usize> From<&'a BoundedText<MAX>> for BoundedRef<'a, MAX> {
    fn from(text: &'a BoundedText<MAX>) -> Self {
        Self(Cow::Borrowed(&text.0))
    }
}

impl<'de: 'a, 'a, const MAX: usize> Deserialize<'de> for BoundedRef<'a, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(RefVisitor::<MAX>)
    }
}

struct RefVisitor<const MAX: usize>;

impl<'de, const MAX: usize> Visitor<'de> for RefVisitor<MAX> {
    type Value = BoundedRef<'de, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        check_text(text, MAX).map_err(E::custom)?;
        Ok(BoundedRef(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        check_text(text, MAX).map_err(E::custom)?;
        Ok(BoundedRef(Cow::Owned(text.to_owned())))
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
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX, "pattern": TEXT_PATTERN })
    }
}

impl<const MAX: usize> std::borrow::Borrow<str> for BoundedText<MAX> {
    fn borrow(&self) -> &str {
        &self.0
    }
}
