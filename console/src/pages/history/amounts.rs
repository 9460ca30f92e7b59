//! Amounts as people read them: money, durations, counts.

use jiff::Timestamp;

/// Returns the milliseconds from one time to a later one.
pub(crate) fn time_between(from: &str, to: &str) -> Option<u64> {
    let [from, to] = [from, to].map(|time| time.parse::<Timestamp>().map(Timestamp::as_millisecond));
    u64::try_from(to.ok()? - from.ok()?).ok()
}

/// Returns an amount in US dollars, as the interface writes it, with its sign.
pub(crate) fn usd(amount: &str) -> String {
    format!("${amount}")
}

/// Returns an amount in US dollars for a column: cents from a dollar on, else four decimals.
pub(crate) fn usd_short(amount: &str) -> String {
    let decimals = if amount.starts_with("0.") { 4 } else { 2 };
    let (whole, rest) = amount.split_once('.').unwrap_or((amount, ""));
    let kept: String = rest.chars().chain("0000".chars()).take(decimals).collect();
    format!("${}.{}", grouped(whole), if rest.is_empty() { "00" } else { &kept })
}

/// Returns millionths of a US dollar as dollars.
pub(crate) fn micro_usd(amount: u64) -> String {
    let (whole, rest) = (amount / 1_000_000, amount % 1_000_000);
    let rest = format!("{rest:06}");
    let rest = rest.trim_end_matches('0');
    format!("${whole}.{rest:0<2}")
}

/// Returns a number in groups of three digits.
#[expect(clippy::needless_pass_by_value, reason = "numbers and their texts are given as they come")]
pub(crate) fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let count = digits.len();
    let mut text = String::with_capacity(count + count / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (count - at).is_multiple_of(3) && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a duration in the two units that say most of it.
pub(crate) fn duration(ms: u64) -> String {
    let (second, minute, hour, day) = (1_000, 60_000, 3_600_000, 86_400_000);
    match ms {
        ms if ms < second => format!("{ms} ms"),
        ms if ms < minute => format!("{}.{} s", ms / second, ms % second / 100),
        ms if ms < hour => format!("{} min {} s", ms / minute, ms % minute / second),
        ms if ms < day => format!("{} h {} min", ms / hour, ms % hour / minute),
        ms => format!("{} d {} h", ms / day, ms % day / hour),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short_and_lose_no_cent() {
        assert_eq!(
            [0, 30_066, 1_500_000, 12_000_000].map(micro_usd),
            ["$0.00", "$0.030066", "$1.50", "$12.00"]
        );
        assert_eq!(
            [7, 999, 1_000, 70_282, 1_234_567].map(|number: u64| grouped(number)),
            ["7", "999", "1,000", "70,282", "1,234,567"]
        );
        assert_eq!(
            ["0", "0.31", "0.008703", "2.207455", "1234.5"].map(usd_short),
            ["$0.00", "$0.3100", "$0.0087", "$2.20", "$1,234.50"]
        );
        let shown = [0, 999, 1_999, 61_000, 3_660_000, 90_000_000].map(duration);
        assert_eq!(shown, ["0 ms", "999 ms", "1.9 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
    }
}
