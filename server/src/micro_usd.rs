//! Money as clients write it: US dollars in a decimal text, exactly.

use bitacora_formats::vocabulary::{AmountError, MicroUsd};

use crate::members::Members;
use crate::problem::Problem;

/// Digits behind the point: a millionth is the least.
const DECIMALS: usize = 6;

/// Why a text is no amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MoneyError {
    #[error("US dollars are written as digits with up to six behind a point, such as \"0.0023\"")]
    Form,
    #[error(transparent)]
    Amount(#[from] AmountError),
}

/// A member that is an amount of US dollars, as a text.
pub(crate) fn take_usd(members: &mut Members<'_>, name: &'static str) -> Result<Option<MicroUsd>, Problem> {
    let Some(text) = members.take::<String>(name)? else { return Ok(None) };
    parse_usd(&text).map(Some).map_err(|error| members.bad(name, &error))
}

/// `0.0023` is 2,300 millionths; nothing is rounded.
fn parse_usd(text: &str) -> Result<MicroUsd, MoneyError> {
    let (whole, decimals) = match text.split_once('.') {
        Some((_, "")) => return Err(MoneyError::Form),
        Some(parts) => parts,
        None => (text, ""),
    };
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > DECIMALS || !is_digits(whole) || !is_digits(decimals) {
        return Err(MoneyError::Form);
    }
    let digits = format!("{whole}{decimals:0<DECIMALS$}");
    let trimmed = digits.trim_start_matches('0');
    // More digits than the largest number has are past every amount.
    let micros = if trimmed.is_empty() { 0 } else { trimmed.parse().unwrap_or(u64::MAX) };
    Ok(MicroUsd::new(micros)?)
}

/// An amount as clients write it: without zeros at its end.
pub(crate) fn format_usd(micros: u128) -> String {
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
        ];
        for (text, micros) in cases {
            assert_eq!(parse_usd(text).map(MicroUsd::get), Ok(micros), "{text}");
        }
    }

    #[test]
    fn amounts_are_written_as_they_are_read() {
        for text in ["0", "0.0023", "1", "1.5", "0.000001", "1000000"] {
            assert_eq!(parse_usd(text).map(|amount| format_usd(amount.get().into())).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_no_amount_or_too_much_is_refused() {
        for text in [
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
        ] {
            assert_eq!(parse_usd(text), Err(MoneyError::Form), "{text}");
        }
        for text in ["1000000.000001", "99999999999999999999999999"] {
            assert!(matches!(parse_usd(text), Err(MoneyError::Amount(_))), "{text}");
        }
    }
}
