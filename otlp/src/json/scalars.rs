//! Texts and numbers of OTLP/JSON. `null` is the default of each.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct JsonText<'a>(pub(super) Cow<'a, str>);

/// A whole number of 64 bits, as a number or a text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonInt(pub(super) i128);

/// A double, as a number or a text.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct JsonDouble(pub(super) f64);

impl JsonInt {
    /// Nanoseconds since 1970; 0 for none.
    pub(super) fn nanoseconds(self) -> u64 {
        u64::try_from(self.0).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(""))
            }
        }
        deserializer.deserialize_any(TextVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for JsonInt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntVisitor;
        impl Visitor<'_> for IntVisitor {
            type Value = i128;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of 64 bits, as a number or a text")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<i128, E> {
                Ok(number.into())
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<i128, E> {
                Ok(number.into())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<i128, E> {
                // Some senders write nanoseconds as doubles, such as 1.7e18.
                if number.fract() != 0.0 || number.abs() >= 18_446_744_073_709_551_616.0 {
                    return Err(E::custom(format!("found {number}, expected a whole number of 64 bits")));
                }
                format!("{number:.0}").parse().map_err(E::custom)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<i128, E> {
                let number: i128 = text.parse().map_err(|_| {
                    E::custom(format!("found the text {:?}, expected a whole number", shown(text)))
                })?;
                if number < i64::MIN.into() || number > u64::MAX.into() {
                    return Err(E::custom("found a number of more than 64 bits"));
                }
                Ok(number)
            }

            fn visit_unit<E: Error>(self) -> Result<i128, E> {
                Ok(0)
            }
        }
        deserializer.deserialize_any(IntVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for JsonDouble {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DoubleVisitor;
        impl Visitor<'_> for DoubleVisitor {
            type Value = f64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a double, as a number or a text")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
                Ok(number)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
                Ok(number as f64)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
                Ok(number as f64)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
                match text {
                    "Infinity" => Ok(f64::INFINITY),
                    "-Infinity" => Ok(f64::NEG_INFINITY),
                    _ => text.parse().map_err(|_| {
                        E::custom(format!("found the text {:?}, expected a double", shown(text)))
                    }),
                }
            }
        }
        deserializer.deserialize_any(DoubleVisitor).map(Self)
    }
}

/// The beginning of a text, for an error.
fn shown(text: &str) -> String {
    text.chars().take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_as_numbers_and_as_texts() {
        let int = |json: &str| serde_json::from_str::<JsonInt>(json).map(|int| int.0).ok();
        assert_eq!(int("\"1544712660300000000\""), Some(1_544_712_660_300_000_000));
        assert_eq!(int("1544712660300000000"), Some(1_544_712_660_300_000_000));
        assert_eq!(int("1.5447126603e18"), Some(1_544_712_660_300_000_000));
        assert_eq!(int("\"18446744073709551615\""), Some(u64::MAX.into()));
        assert_eq!(int("\"-9223372036854775808\""), Some(i64::MIN.into()));
        assert_eq!(int("null"), Some(0));
        for bad in ["\"18446744073709551616\"", "1.5", "true", "\"\"", "\"1e3\"", "1e300", "{}"] {
            assert_eq!(int(bad), None, "{bad}");
        }
        let double = |json: &str| serde_json::from_str::<JsonDouble>(json).map(|double| double.0).ok();
        assert_eq!(double("\"Infinity\""), Some(f64::INFINITY));
        assert!(double("\"NaN\"").unwrap().is_nan());
        assert_eq!((double("3"), double("0.25"), double("\"x\"")), (Some(3.0), Some(0.25), None));
    }
}
