//! The time zone that a viewer reads times in.

use http::HeaderMap;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The cookie that keeps the zone. It holds nothing secret.
pub(crate) const ZONE_COOKIE: &str = "bitacora-console-zone";

/// A zone by its name in the IANA database, or UTC.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    zone: TimeZone,
    pub(crate) name: String,
}

impl Zone {
    /// The viewer's zone: UTC unless they set another one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        crate::sign_in::named(headers, ZONE_COOKIE)
            .and_then(|name| Self::named(&name))
            .unwrap_or_else(Self::utc)
    }

    /// Returns the zone with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(Self::utc());
        }
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        let name = zone.iana_name()?.to_owned();
        Some(Self { zone, name })
    }

    fn utc() -> Self {
        Self { zone: TimeZone::UTC, name: "UTC".to_owned() }
    }

    /// Returns the rules by which its clock changes.
    pub(crate) fn rules(&self) -> &TimeZone {
        &self.zone
    }

    pub(crate) fn is_utc(&self) -> bool {
        self.name == "UTC"
    }

    /// Returns a time in this zone, to the second; the text as it is where it is no time.
    pub(crate) fn show(&self, time: &str) -> String {
        let Ok(instant) = time.parse::<Timestamp>() else { return time.to_owned() };
        instant.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// Returns the instant that a person wrote, RFC 3339 in UTC: with its own zone, or else in this one. Of an hour that comes twice it is the
    /// first, of one that is left out the time after it.
    pub(crate) fn instant(&self, told: &str) -> Option<String> {
        let instant = told.parse::<Timestamp>().ok().or_else(|| {
            let time = told.parse::<DateTime>().ok()?;
            self.zone.to_timestamp(time).ok()
        })?;
        Some(instant.to_string())
    }

    /// Returns a time in UTC, to the second, with its mark.
    pub(crate) fn show_utc(time: &str) -> String {
        format!("{} UTC", Self::utc().show(time))
    }

    /// Returns a time in this zone with the zone's short name: hours that come twice differ in it.
    pub(crate) fn show_with_offset(&self, time: &str) -> String {
        let Ok(instant) = time.parse::<Timestamp>() else { return time.to_owned() };
        instant.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z (%:z)").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_that_come_twice_differ_in_their_offset() {
        let berlin = Zone::named("europe/berlin").unwrap();
        assert_eq!(berlin.name, "Europe/Berlin");
        let [summer, winter] = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"];
        assert_eq!(berlin.show(summer), berlin.show(winter));
        assert_eq!(berlin.show_with_offset(summer), "2026-10-25 02:30:00 CEST (+02:00)");
        assert_eq!(berlin.show_with_offset(winter), "2026-10-25 02:30:00 CET (+01:00)");
    }

    #[test]
    fn what_is_no_zone_or_time_stays() {
        for name in ["", "Mars/Olympus", "../etc/passwd", "UTC\r\nSet-Cookie: x"] {
            assert!(Zone::named(name).is_none(), "{name:?}");
        }
        assert_eq!(Zone::utc().show("yesterday"), "yesterday");
        assert_eq!(Zone::show_utc("2026-11-27T15:04:05.123456Z"), "2026-11-27 15:04:05 UTC");
    }
}
