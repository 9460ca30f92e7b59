//! Amounts as people read them: money, durations, counts, sizes.

use jiff::Timestamp;

/// Returns the milliseconds from one time to a later one.
pub(crate) fn time_between(from: &str, to: &str) -> Option<u64> {
    let [from, to] = [from, to].map(|time| time.parse::<Timestamp>().map(Timestamp::as_millisecond));
    u64::try_from(to.ok()? - from.ok()?).ok()
}

/// The amount from which on cents suffice.
const SMALL_USD: f64 = 0.1;

/// Returns US dollars in cents, with more digits where there are few.
pub(crate) fn dollars(value: f64) -> String {
    let digits = if value == 0.0 || value >= SMALL_USD { 2 } else { 4 };
    format!("${}", grouped(format!("{value:.digits$}")))
}

/// Returns an amount of the interface likewise; as it is written where it is no number.
pub(crate) fn short_usd(amount: &str) -> String {
    amount.parse().map_or_else(|_| amount.to_owned(), dollars)
}

/// Returns an amount of the interface with all its digits.
pub(crate) fn exact_usd(amount: &str) -> String {
    let (whole, rest) = amount.split_once('.').unwrap_or((amount, ""));
    format!("${}.{rest:0<2}", grouped(whole))
}

/// Returns millionths of a US dollar as dollars.
pub(crate) fn micro_usd(amount: u64) -> String {
    let (whole, rest) = (amount / 1_000_000, amount % 1_000_000);
    let rest = format!("{rest:06}");
    let rest = rest.trim_end_matches('0');
    format!("${whole}.{rest:0<2}")
}

/// Returns a number with its thousands apart; a text that begins with no digit as it is.
#[expect(clippy::needless_pass_by_value, reason = "numbers and their texts are given as they come")]
pub(crate) fn grouped(number: impl ToString) -> String {
    let number = number.to_string();
    let count = number.bytes().take_while(u8::is_ascii_digit).count();
    let mut text = String::with_capacity(number.len() + count / 3);
    for (at, letter) in number.chars().enumerate() {
        if at > 0 && at < count && (count - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(letter);
    }
    text
}

/// Returns a number as a whole one, with its thousands apart.
pub(crate) fn whole(value: f64) -> String {
    grouped(format!("{value:.0}"))
}

const MIB: u64 = 1024 * 1024;

/// Returns bytes in MiB, rounded up.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", grouped(bytes.div_ceil(MIB)))
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
    fn amounts_are_told_as_people_read_them() {
        assert_eq!(
            [0, 30_066, 1_500_000, 12_000_000].map(micro_usd),
            ["$0.00", "$0.030066", "$1.50", "$12.00"]
        );
        assert_eq!(
            [7, 999, 1_000, 70_282, 1_234_567].map(|number: u64| grouped(number)),
            ["7", "999", "1,000", "70,282", "1,234,567"]
        );
        assert_eq!(
            ["0", "0.31", "0.008703", "2.207455", "1234.5", "-"].map(short_usd),
            ["$0.00", "$0.31", "$0.0087", "$2.21", "$1,234.50", "-"]
        );
        assert_eq!(["0", "2.207455", "1234.5"].map(exact_usd), ["$0.00", "$2.207455", "$1,234.50"]);
        assert_eq!([0.0, 999.4, 1_234_567.4].map(whole), ["0", "999", "1,234,567"]);
        assert_eq!([0, 1, 3_000_000_000].map(mebibytes), ["0 MiB", "1 MiB", "2,862 MiB"]);
        let shown = [0, 999, 1_999, 61_000, 3_660_000, 90_000_000].map(duration);
        assert_eq!(shown, ["0 ms", "999 ms", "1.9 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
    }
}
