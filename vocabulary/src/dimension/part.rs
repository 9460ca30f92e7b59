//! One part of a dimension.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::TextError;
use crate::text::{TEXT_PATTERN, check_text};

/// The longest part of a dimension, in bytes.
pub const MAX_DIMENSION_PART_BYTES: usize = 1_024;

/// An error in the text of a part of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DimensionError {
    /// Not a text that is taken anywhere.
    #[error(transparent)]
    Text(#[from] TextError),
    /// `*` stands for every part where something is asked; nothing happens in every part.
    #[error("'*' is no part of a dimension; name the part, or leave it out where it is not known")]
    Every,
}

/// One part of a dimension: 1 to 1,024 bytes, slashes, bars and spaces among them; `-` where it is not known; never `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DimensionPart(String);

impl DimensionPart {
    /// The part that is not known.
    pub const UNKNOWN: &'static str = "-";
    /// The context of a command that could not be read.
    pub const OPAQUE: &'static str = "opaque";
    /// Begins the context of a command of several programs, whose names follow with commas between.
    pub const SEVERAL: &'static str = "several:";
    /// The wildcard for every part in a query.
    pub const EVERY: &'static str = "*";

    /// The text, if it can be a part.
    ///
    /// # Errors
    /// Empty, too long, with a control character other than tab and line feed, or `*`.
    pub fn new(text: impl Into<String>) -> Result<Self, DimensionError> {
        let text = text.into();
        check_part(&text)?;
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if the part is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.as_str() != Self::UNKNOWN
    }
}

/// Checks that a text can be a part.
pub(super) fn check_part(text: &str) -> Result<(), DimensionError> {
    check_text(text, MAX_DIMENSION_PART_BYTES)?;
    if text == DimensionPart::EVERY { Err(DimensionError::Every) } else { Ok(()) }
}

/// The part that is not known.
impl Default for DimensionPart {
    fn default() -> Self {
        Self(Self::UNKNOWN.to_owned())
    }
}

impl Deref for DimensionPart {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for DimensionPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for DimensionPart {
    type Error = DimensionError;

    fn try_from(text: String) -> Result<Self, DimensionError> {
        Self::new(text)
    }
}

impl From<DimensionPart> for String {
    fn from(part: DimensionPart) -> Self {
        part.0
    }
}

impl JsonSchema for DimensionPart {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DimensionPart".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_DIMENSION_PART_BYTES,
            "pattern": TEXT_PATTERN,
            "not": { "const": Self::EVERY }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_what_paths_and_commands_hold() {
        for part in ["-", "a", "a/b|c d", "ls -l | wc", "**", "*.rs", "a\tb", "漢", &"a".repeat(1_024)] {
            assert_eq!(DimensionPart::new(part).map(|taken| taken.to_string()), Ok(part.to_owned()));
        }
        let refused = [
            ("*", DimensionError::Every),
            ("", DimensionError::Text(TextError::Empty)),
            ("a\0b", DimensionError::Text(TextError::Control)),
            (&"a".repeat(1_025), DimensionError::Text(TextError::TooLong { found: 1_025, max: 1_024 })),
        ];
        for (part, error) in refused {
            assert_eq!(DimensionPart::new(part), Err(error), "{part:?}");
            assert!(serde_json::from_value::<DimensionPart>(part.into()).is_err(), "{part:?}");
        }
    }

    #[test]
    fn a_part_that_nobody_names_is_not_known() {
        assert_eq!(DimensionPart::default(), DimensionPart::new("-").unwrap());
        assert!(!DimensionPart::default().is_known());
    }
}
