//! Days, UTC, that sums are kept by.

use bitacora_formats::{Micros, format_time};

/// Microseconds of a day.
pub(crate) const DAY: u64 = 86_400_000_000;

/// Returns the day as people write it, of a number of days since 1970.
pub(crate) fn day_text(days: &str) -> String {
    let midnight = days.parse::<u64>().ok().and_then(|days| days.checked_mul(DAY));
    let Some(midnight) = midnight else { return days.to_owned() };
    let time = format_time(Micros(midnight));
    time.split('T').next().unwrap_or(&time).to_owned()
}
