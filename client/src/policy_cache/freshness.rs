//! The age of a replica, and the service's clock by now.

use std::time::{Duration, Instant};

use bitacora_formats::Micros;

/// The time of a replica by the service's clock, and the time that has passed since on this side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Freshness {
    /// The time of the connection request, which is before the service sent its first time.
    requested_at: Instant,
    first: Micros,
    /// The last time that the service sent, and the moment at which it arrived.
    last: Micros,
    received_at: Instant,
}

impl Freshness {
    /// Begins with the first time of the service, over a connection that was requested at `requested_at`.
    pub(crate) fn begin(requested_at: Instant, first: Micros, received_at: Instant) -> Self {
        Self { requested_at, first, last: first, received_at }
    }

    /// Takes in another time of the service.
    pub(crate) fn hear(&mut self, time: Micros, received_at: Instant) {
        (self.last, self.received_at) = (time, received_at);
    }

    /// Returns an upper bound of the replica's age: never less than its age, where both clocks run alike. Delays on the
    /// way count.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        let sent_after = Duration::from_micros(self.last.0.saturating_sub(self.first.0));
        let since_request = now.saturating_duration_since(self.requested_at).saturating_sub(sent_after);
        since_request.max(now.saturating_duration_since(self.received_at))
    }

    /// Returns the service's clock now, at the earliest and at the latest.
    pub(crate) fn service_time(&self, now: Instant) -> (Micros, Micros) {
        let past = |passed: Duration| {
            Micros(self.last.0.saturating_add(u64::try_from(passed.as_micros()).unwrap_or(u64::MAX)))
        };
        (past(now.saturating_duration_since(self.received_at)), past(self.age(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_on_its_way_is_as_old_as_it_is() {
        let requested_at = Instant::now();
        let at = |ms: u64| requested_at + Duration::from_millis(ms);
        let time = |ms: u64| Micros(1_000_000_000 + ms * 1_000);
        // Said 10 ms after it was asked for, and heard 5 ms later.
        let mut known = Freshness::begin(requested_at, time(10), at(15));
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
