//! How old what is known may be, and what the service's clock shows by now.

use std::time::{Duration, Instant};

use bitacora_formats::Micros;

/// When something was known, by the service's clock, and what of that this side saw pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Freshness {
    /// When the connection was asked for, which is before the service said its first time.
    asked: Instant,
    first: Micros,
    /// The time that the service said last, and when that was heard.
    last: Micros,
    heard: Instant,
}

impl Freshness {
    /// The service says its first time over a connection that was asked for then.
    pub(crate) fn begin(asked: Instant, first: Micros, heard: Instant) -> Self {
        Self { asked, first, last: first, heard }
    }

    /// It says another one.
    pub(crate) fn hear(&mut self, time: Micros, heard: Instant) {
        (self.last, self.heard) = (time, heard);
    }

    /// How old what was known then may be: never less than it is, where both clocks run alike. What takes long on its way counts.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        let said_after = Duration::from_micros(self.last.0.saturating_sub(self.first.0));
        let since_asked = now.saturating_duration_since(self.asked).saturating_sub(said_after);
        since_asked.max(now.saturating_duration_since(self.heard))
    }

    /// What the service's clock shows now, at the earliest and at the latest.
    pub(crate) fn service_time(&self, now: Instant) -> (Micros, Micros) {
        let past = |passed: Duration| {
            Micros(self.last.0.saturating_add(u64::try_from(passed.as_micros()).unwrap_or(u64::MAX)))
        };
        (past(now.saturating_duration_since(self.heard)), past(self.age(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_on_its_way_is_as_old_as_it_is() {
        let asked = Instant::now();
        let at = |ms: u64| asked + Duration::from_millis(ms);
        let time = |ms: u64| Micros(1_000_000_000 + ms * 1_000);
        // Said 10 ms after it was asked for, and heard 5 ms later.
        let mut known = Freshness::begin(asked, time(10), at(15));
        assert_eq!(known.age(at(15)), Duration::from_millis(15));
        assert_eq!(known.service_time(at(15)), (time(10), time(25)));
        // Said at 1010, and held up for two seconds.
        known.hear(time(1_010), at(3_015));
        assert_eq!(known.age(at(3_015)), Duration::from_millis(2_015));
        assert_eq!(known.age(at(3_115)), Duration::from_millis(2_115));
        assert_eq!(known.service_time(at(3_115)), (time(1_110), time(3_125)));
        // A clock that went ahead does not make it any younger than the time since it was heard.
        known.hear(time(900_000), at(4_000));
        assert_eq!(known.age(at(4_100)), Duration::from_millis(100));
        // Nor does one that was set back make it look fresh.
        known.hear(time(0), at(5_000));
        assert_eq!(known.age(at(5_000)), Duration::from_millis(5_000));
    }
}
