//! Amounts as people read them: money, durations, counts, sizes.

use bitacora_api::SpendingAnswer;
use jiff::Timestamp;

/// Returns the milliseconds from one time to a later one.
pub(crate) fn time_between(from: &str, to: &str) -> Option<u64> {
    let [from, to] = [from, to].map(|time| time.parse::<Timestamp>().map(Timestamp::as_millisecond));
    u64::try_from(to.ok()? - from.ok()?).ok()
}

/// Returns two times, the earlier one first. Of what was recorded in another order than it happened, the last event may be the earlier one.
pub(crate) fn in_order<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let is_later = match (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
        (Ok(one), Ok(other)) => other < one,
        _ => false,
    };
    if is_later { (other, one) } else { (one, other) }
}

/// The mark in the place of an amount of which nothing is recorded.
pub(crate) const NOTHING: &str = "-";

/// Returns the sum of what was spent; nothing where no call told what it cost.
pub(crate) fn spent(of: &SpendingAnswer) -> Option<&str> {
    let is_told = of.model_calls + of.tool_calls > of.without_cost;
    (is_told || !is_zero(&of.cost_usd)).then_some(of.cost_usd.as_str())
}

/// Returns an amount unless it is none.
pub(crate) fn unless_zero(amount: &str) -> Option<&str> {
    (!is_zero(amount)).then_some(amount)
}

fn is_zero(amount: &str) -> bool {
    amount.bytes().all(|byte| byte == b'0' || byte == b'.')
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
    fn an_amount_of_which_nothing_is_recorded_is_none() {
        let spent_of = |calls: u64, without: u64, cost: &str| {
            let of: SpendingAnswer = serde_json::from_value(serde_json::json!({
                "modelCalls": calls, "toolCalls": 0, "withoutCost": without, "costUsd": cost,
                "tokensIn": "0", "tokensOut": "0", "cacheRead": "0", "cacheWrite": "0", "durationMs": "0",
            }))
            .unwrap();
            spent(&of).map(str::to_owned)
        };
        assert_eq!([spent_of(0, 0, "0"), spent_of(3, 3, "0")], [None, None]);
        assert_eq!(spent_of(3, 2, "0").as_deref(), Some("0"), "a call that told that it was free");
        assert_eq!(spent_of(3, 3, "0.1").as_deref(), Some("0.1"));
        assert_eq!(["0", "0.00", "0.10"].map(unless_zero), [None, None, Some("0.10")]);
    }

    #[test]
    fn of_two_times_the_earlier_one_is_first() {
        let (early, late) = ("2026-11-27T22:55:17.925000Z", "2026-11-27T22:55:21Z");
        assert_eq!([in_order(late, early), in_order(early, late)], [(early, late); 2]);
        assert_eq!(in_order("x", early), ("x", early));
    }

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
