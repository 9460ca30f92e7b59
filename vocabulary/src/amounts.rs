//! Amounts as integers with a unit and a bound; a number past the bound is a mistake of the writer.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An error in a number that was given as an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{found} is past {max}, the most that {what} may be")]
pub struct AmountError {
    /// The thing to be counted.
    pub what: &'static str,
    /// The number.
    pub found: u64,
    /// The bound.
    pub max: u64,
}

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "u64", into = "u64")]
        pub struct $name(u64);

        impl $name {
            /// The most there may be.
            pub const MAX: Self = Self($max);

            /// This many.
            ///
            /// # Errors
            /// Past [`Self::MAX`].
            pub const fn new(number: u64) -> Result<Self, AmountError> {
                if number > $max {
                    return Err(AmountError { what: $what, found: number, max: $max });
                }
                Ok(Self(number))
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl TryFrom<u64> for $name {
            type Error = AmountError;

            fn try_from(number: u64) -> Result<Self, AmountError> {
                Self::new(number)
            }
        }

        impl From<$name> for u64 {
            fn from(amount: $name) -> Self {
                amount.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "integer", "minimum": 0, "maximum": $max as u64, "description": $what })
            }
        }
    };
}

amount! {
    /// Money, in millionths of a US dollar.
    MicroUsd, "a cost in millionths of a US dollar", 1_000_000_000_000
}
amount! {
    /// A length of time: up to a year.
    Milliseconds, "a time in milliseconds", 31_622_400_000
}
amount! {
    /// Tokens of a model.
    Tokens, "a number of tokens", 1_000_000_000_000
}
amount! {
    /// The number of times that something happened.
    Count, "a number of times", 1_000_000_000_000
}
