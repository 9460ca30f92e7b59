//! Positions, as events write them.

use std::borrow::Cow;
use std::num::NonZeroU64;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use bitacora_formats::{IdError, Position};

/// The position of an event in its ledger: a decimal number in a string, as everywhere in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventPosition(NonZeroU64);

impl EventPosition {
    /// The position.
    #[must_use]
    pub fn get(self) -> Position {
        Position::new(self.0.get()).unwrap_or(Position::FIRST)
    }
}

impl From<Position> for EventPosition {
    fn from(position: Position) -> Self {
        Self(NonZeroU64::new(position.get()).unwrap_or(NonZeroU64::MIN))
    }
}

impl TryFrom<String> for EventPosition {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        // One way to write each, so that a schema can say which.
        if text.starts_with('0') {
            return Err(IdError::NotAPlace);
        }
        text.parse::<Position>().map(Self::from)
    }
}

impl From<EventPosition> for String {
    fn from(position: EventPosition) -> Self {
        position.0.to_string()
    }
}

impl JsonSchema for EventPosition {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EventPosition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[1-9][0-9]{0,19}$" })
    }
}
