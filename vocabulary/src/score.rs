//! Scores of trust in a dimension, from 0 to 1, without floating point.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An error in the text or number of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// Not written as one.
    #[error("not a score; write 0 to 1 with at most four decimals, like \"0.9\"")]
    Text,
    /// More than 1.
    #[error("{found} ten-thousandths are more than 1")]
    TooMuch {
        /// Ten-thousandths.
        found: u16,
    },
}

/// A number from 0 to 1 in ten-thousandths, which is how events hold it. As text it is a decimal without zeros at its end but one:
/// "0.7892", "0.94", "1.0".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Score(u16);

impl Score {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(10_000);

    /// This many ten-thousandths.
    ///
    /// # Errors
    /// More than 1.
    pub const fn new(ten_thousandths: u16) -> Result<Self, ScoreError> {
        if ten_thousandths > Self::ONE.0 {
            return Err(ScoreError::TooMuch { found: ten_thousandths });
        }
        Ok(Self(ten_thousandths))
    }

    /// This many ten-thousandths, and 1 where they are more.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "at most 10,000 where it is cast")]
    pub const fn clamped(ten_thousandths: u64) -> Self {
        if ten_thousandths > Self::ONE.0 as u64 { Self::ONE } else { Self(ten_thousandths as u16) }
    }

    /// With this many ten-thousandths more, at most 1.
    #[must_use]
    pub const fn plus(self, ten_thousandths: u64) -> Self {
        Self::clamped((self.0 as u64).saturating_add(ten_thousandths))
    }

    /// In ten-thousandths.
    #[must_use]
    pub const fn ten_thousandths(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / 10_000, self.0 % 10_000);
        match decimals {
            tenths if tenths % 1_000 == 0 => write!(f, "{whole}.{}", tenths / 1_000),
            hundredths if hundredths % 100 == 0 => write!(f, "{whole}.{:02}", hundredths / 100),
            thousandths if thousandths % 10 == 0 => write!(f, "{whole}.{:03}", thousandths / 10),
            all => write!(f, "{whole}.{all:04}"),
        }
    }
}

impl FromStr for Score {
    type Err = ScoreError;

    fn from_str(text: &str) -> Result<Self, ScoreError> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let whole = match whole {
            "0" => 0,
            "1" => 10_000,
            _ => return Err(ScoreError::Text),
        };
        let digits = (1..=4).contains(&decimals.len()) && decimals.bytes().all(|byte| byte.is_ascii_digit());
        if !digits {
            return Err(ScoreError::Text);
        }
        let decimals: u16 = format!("{decimals:0<4}").parse().map_err(|_| ScoreError::Text)?;
        Self::new(whole + decimals)
    }
}

impl TryFrom<u16> for Score {
    type Error = ScoreError;

    fn try_from(ten_thousandths: u16) -> Result<Self, ScoreError> {
        Self::new(ten_thousandths)
    }
}

impl From<Score> for u16 {
    fn from(score: Score) -> Self {
        score.0
    }
}

impl JsonSchema for Score {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Score".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer",
            "minimum": 0,
            "maximum": Self::ONE.0,
            "description": "a score in ten-thousandths"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_written_without_zeros_at_its_end_but_one() {
        let written = [
            (0, "0.0"),
            (1, "0.0001"),
            (10, "0.001"),
            (100, "0.01"),
            (120, "0.012"),
            (1_000, "0.1"),
            (3_333, "0.3333"),
            (5_100, "0.51"),
            (7_892, "0.7892"),
            (9_400, "0.94"),
            (9_999, "0.9999"),
            (10_000, "1.0"),
        ];
        for (ten_thousandths, text) in written {
            assert_eq!(Score::new(ten_thousandths).unwrap().to_string(), text);
        }
    }

    #[test]
    fn every_score_is_read_as_it_is_written() {
        for ten_thousandths in 0..=10_000 {
            let score = Score::new(ten_thousandths).unwrap();
            assert_eq!(score.to_string().parse(), Ok(score));
            assert_eq!(serde_json::to_string(&score).unwrap(), ten_thousandths.to_string());
            assert_eq!(serde_json::from_str::<Score>(&ten_thousandths.to_string()).unwrap(), score);
        }
        for (text, ten_thousandths) in [("0", 0), ("1", 10_000), ("1.0000", 10_000), ("0.9000", 9_000)] {
            assert_eq!(text.parse::<Score>().map(Score::ten_thousandths), Ok(ten_thousandths), "{text}");
        }
    }

    #[test]
    fn what_is_no_score_is_refused() {
        let texts = [
            "", ".", "0.", ".5", "00.5", "0.00001", "+0.5", "-0.5", "0.5 ", " 0.5", "0,5", "0.+5", "5e-1",
            "2", "٠", "NaN", "0.1.2",
        ];
        for text in texts {
            assert_eq!(text.parse::<Score>(), Err(ScoreError::Text), "{text:?}");
        }
        assert_eq!("1.0001".parse::<Score>(), Err(ScoreError::TooMuch { found: 10_001 }));
        assert_eq!("1.9999".parse::<Score>(), Err(ScoreError::TooMuch { found: 19_999 }));
        assert_eq!(Score::new(u16::MAX), Err(ScoreError::TooMuch { found: u16::MAX }));
        for json in ["0.5", "1.0", "10001", "-1", "\"0.5\"", "null", "{}"] {
            assert!(serde_json::from_str::<Score>(json).is_err(), "{json}");
        }
        assert_eq!((Score::clamped(10_001), Score::clamped(u64::MAX)), (Score::ONE, Score::ONE));
    }
}
