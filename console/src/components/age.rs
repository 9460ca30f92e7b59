//! Times, as far as they are from now.

use jiff::Timestamp;
use maud::{Markup, html};

use super::time::moment;
use crate::zone::Zone;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Returns how far a time is from now, in words of the largest unit; the time itself where it cannot be read.
pub(crate) fn from_now(zone: &Zone, time: &str) -> Markup {
    let Ok(instant) = time.parse::<Timestamp>() else { return moment(zone, time) };
    let words = words(instant.as_second() - Timestamp::now().as_second());
    html! { time.age datetime=(time) title=(zone.show_with_offset(time)) data-age { (words) } }
}

/// Returns from when on a breaker that is open lets a call try. It is half open with the first one that does, which may come much later.
/// The words hold before that time and after it: a page that is open counts the time on.
pub(crate) fn probed_from(zone: &Zone, time: &str) -> Markup {
    html! { "half open at the first call after " (moment(zone, time)) " (" (from_now(zone, time)) ")" }
}

/// Returns a distance in seconds in words: `in 4 min`, `3 h ago`.
fn words(distance: i64) -> String {
    let amount = match distance.abs() {
        seconds if seconds < 2 => return "now".to_owned(),
        seconds if seconds < MINUTE => format!("{seconds} s"),
        seconds if seconds < 2 * HOUR => format!("{} min", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} days", seconds / DAY),
    };
    if distance < 0 { format!("{amount} ago") } else { format!("in {amount}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breaker_that_no_call_tried_was_not_tried_again() {
        let zone = Zone::named("UTC").unwrap();
        for time in ["2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"] {
            let words = probed_from(&zone, time).into_string();
            assert!(words.starts_with("half open at the first call after <time "), "{words}");
            assert!(!words.contains("tried"), "{words}");
        }
    }

    #[test]
    fn a_distance_is_told_in_its_largest_unit() {
        for (seconds, told) in [
            (0, "now"),
            (-1, "now"),
            (59, "in 59 s"),
            (240, "in 4 min"),
            (-7_199, "119 min ago"),
            (7_200, "in 2 h"),
            (-172_800, "2 days ago"),
        ] {
            assert_eq!(words(seconds), told);
        }
        assert_eq!(words(i64::MIN + 1), "106751991167300 days ago");
    }
}
