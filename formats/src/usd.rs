//! Money as people write it: US dollars in a decimal text, exactly, as millionths.

/// Digits behind the point: a millionth is the least.
const DECIMALS: usize = 6;

/// A text is no amount of US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("US dollars are written as digits with up to six behind a point, such as \"0.0023\"")]
pub struct UsdError;

/// Reads US dollars as millionths: `0.0023` is 2,300, and nothing is rounded. A text with more digits than the largest
/// number gives that number.
///
/// # Errors
/// [`UsdError`].
pub fn parse_usd(text: &str) -> Result<u128, UsdError> {
    let (whole, decimals) = match text.split_once('.') {
        Some((_, "")) => return Err(UsdError),
        Some(parts) => parts,
        None => (text, ""),
    };
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > DECIMALS || !is_digits(whole) || !is_digits(decimals) {
        return Err(UsdError);
    }
    let digits = format!("{whole}{decimals:0<DECIMALS$}");
    let trimmed = digits.trim_start_matches('0');
    Ok(if trimmed.is_empty() { 0 } else { trimmed.parse().unwrap_or(u128::MAX) })
}

/// An amount as people write it: without zeros at its end.
#[must_use]
pub fn format_usd(micros: u128) -> String {
    const UNIT: u128 = 1_000_000;
    let (whole, rest) = (micros / UNIT, micros % UNIT);
    if rest == 0 {
        return whole.to_string();
    }
    let decimals = format!("{rest:0DECIMALS$}");
    format!("{whole}.{}", decimals.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_millionths_exactly() {
        let cases = [
            ("0", 0),
            ("0.0023", 2_300),
            ("1", 1_000_000),
            ("1.5", 1_500_000),
            ("0.000001", 1),
            ("000.1", 100_000),
            ("1000000", 1_000_000_000_000),
            ("340282366920938463463374607431769", u128::MAX),
        ];
        for (text, micros) in cases {
            assert_eq!(parse_usd(text), Ok(micros), "{text}");
        }
    }

    #[test]
    fn amounts_are_written_as_they_are_read() {
        for text in ["0", "0.0023", "1", "1.5", "0.000001", "1000000"] {
            assert_eq!(parse_usd(text).map(format_usd).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        let texts = [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "0.0000001",
            "1,5",
            " 1",
            "1 ",
            "٣",
            "NaN",
            "0x1",
            "1.2.3",
        ];
        for text in texts {
            assert_eq!(parse_usd(text), Err(UsdError), "{text}");
        }
    }
}
