//! The ledger's only source of time, behind a trait so that tests can set it.

#![expect(clippy::disallowed_types, reason = "this is the one place that reads the time")]

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use bitacora_formats::Micros;

/// Tells the time. It may stand still or go back; a caller that needs order keeps the greatest value seen.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Microseconds since 1970-01-01T00:00:00Z, without leap seconds.
    fn now(&self) -> Micros;

    /// The time that has passed since a moment that stays the same as long as the process runs: it never goes back, and setting
    /// the clock does not change it. For how long something has lasted.
    fn passed(&self) -> Duration;
}

/// The machine's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// A clock set before 1970 reads 0; one set past the year 500,000 reads the greatest value.
    fn now(&self) -> Micros {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Micros(u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX))
    }

    fn passed(&self) -> Duration {
        static BEGAN: OnceLock<Duration> = OnceLock::new();
        let up = since_boot();
        up.saturating_sub(*BEGAN.get_or_init(|| up))
    }
}

/// The time since the machine started, the time it slept included: else every sleep would be a jump of the wall clock.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn since_boot() -> Duration {
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let (seconds, nanoseconds) = (u64::try_from(up.tv_sec), u32::try_from(up.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
}

/// The time since some moment; whether sleep is counted is up to the system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn since_boot() -> Duration {
    static BEGAN: OnceLock<std::time::Instant> = OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_counts_microseconds() {
        let in_2020 = Micros(1_577_836_800_000_000);
        let in_2500 = Micros(16_725_225_600_000_000);
        let now = SystemClock.now();
        assert!(in_2020 < now && now < in_2500, "{now:?}");
    }

    #[test]
    fn what_has_passed_only_grows() {
        let before = SystemClock.passed();
        std::thread::sleep(Duration::from_millis(2));
        assert!(SystemClock.passed() >= before + Duration::from_millis(2));
    }
}
