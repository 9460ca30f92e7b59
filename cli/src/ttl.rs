//! Durations on the command line.

use bitacora_formats::Micros;

/// Parses a duration: `12h`, `30d`.
pub(crate) fn ttl(text: &str) -> Result<Micros, String> {
    let wrong = || "a number and one of m, h, d: 30d".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| wrong())?;
    // At most a hundred years, so that no sum is past what a number of JSON may be.
    let ttl = number.checked_mul(seconds).filter(|ttl| (1..=100 * 366 * 86_400).contains(ttl));
    Ok(Micros(ttl.ok_or_else(wrong)? * 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_a_number_and_a_unit() {
        assert_eq!(ttl("30d"), Ok(Micros(30 * 86_400 * 1_000_000)));
        assert_eq!(ttl("1m"), Ok(Micros(60_000_000)));
        for bad in ["", "d", "30", "-1d", "0h", "1.5h", "1w", "dd", "1dd", "99999999999d", "1é"] {
            assert!(ttl(bad).is_err(), "{bad}");
        }
    }
}
