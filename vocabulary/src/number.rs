//! Whole numbers with both bounds in their type.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An error in a number that is out of its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not taken; give {min} to {max}")]
pub struct NumberError {
    /// The number.
    pub found: u32,
    /// The least that is taken.
    pub min: u32,
    /// The most.
    pub max: u32,
}

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct BoundedNumber<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> BoundedNumber<MIN, MAX> {
    /// This number, or the bound that it is past.
    #[must_use]
    pub const fn clamped(number: u32) -> Self {
        const { assert!(MIN <= MAX, "a number between its bounds") };
        if number < MIN {
            Self(MIN)
        } else if number > MAX {
            Self(MAX)
        } else {
            Self(number)
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32> TryFrom<u32> for BoundedNumber<MIN, MAX> {
    type Error = NumberError;

    fn try_from(number: u32) -> Result<Self, NumberError> {
        let taken = Self::clamped(number);
        if taken.0 != number {
            return Err(NumberError { found: number, min: MIN, max: MAX });
        }
        Ok(taken)
    }
}

impl<const MIN: u32, const MAX: u32> From<BoundedNumber<MIN, MAX>> for u32 {
    fn from(number: BoundedNumber<MIN, MAX>) -> Self {
        number.0
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for BoundedNumber<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_are_taken_and_nothing_past_them() {
        type Window = BoundedNumber<1, 128>;
        for number in ["1", "128"] {
            assert_eq!(serde_json::from_str::<Window>(number).unwrap().get().to_string(), number);
        }
        for number in ["0", "129", "-1", "1.0", "\"1\"", "null", "4294967296"] {
            assert!(serde_json::from_str::<Window>(number).is_err(), "{number}");
        }
        assert_eq!((Window::clamped(0).get(), Window::clamped(500).get()), (1, 128));
    }
}
