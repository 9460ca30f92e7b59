//! The cut of warm data, and its record: the position behind which rows of read models stay on the disk.

use bitacora_formats::{Data, Micros, Position, service_source};
use bitacora_vocabulary::{EventData, WarmCut, WarmDays};

use crate::append::own_events::append_own;
use crate::append::service_events::ServiceEvent;
use crate::ledger::Ledger;
use crate::limits::MIN_WARM_CUT_EVENTS;
use crate::query::{EventPage, Filter, ReadFrom, ReadQuery};
use crate::read_error::ReadError;
use crate::retention::counted_time::CountedTime;
use crate::submission::append_error::AppendError;

/// Microseconds of a day.
const MICROS_OF_DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// Returns the position of the last cut that the service recorded; 0 without one.
fn last_cut(
    source: &str,
    mut read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
) -> Result<u64, ReadError> {
    let filter = Filter { kinds: vec![WarmCut::KIND.to_owned()], ..Filter::default() };
    let mut from = Some(ReadFrom::Before(None));
    // A page may be empty and go on all the same.
    while let Some(next) = from {
        let page = read(&ReadQuery { from: next, until: None, limit: 1, filter: filter.clone() })?;
        let own = page.events.first().filter(|stored| stored.event.source == source);
        if let Some((Data::Json(json), position)) = own.map(|stored| (&stored.event.data, stored.position)) {
            let cut = serde_json::from_slice::<WarmCut>(json.as_bytes());
            // Read models pass over one that is not behind what it cuts.
            let through = cut.map(|cut| cut.through.get()).ok().filter(|through| *through < position);
            if let Some(through) = through {
                return Ok(through.get());
            }
        }
        from = page.next;
    }
    Ok(0)
}

impl Ledger {
    /// Returns the cut that is due, so that rows leave which no event of the last `keep_days` wrote: one that lies at least
    /// [`MIN_WARM_CUT_EVENTS`] events behind the last one. `None` also where nothing governs, and while the clock jumped and nobody accepted
    /// its time. Ages are counted as those of events that expire. `read` searches for the last cut.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn due_warm_cut(
        &self,
        keep_days: WarmDays,
        mut read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
    ) -> Result<Option<WarmCut>, ReadError> {
        let shared = self.shared();
        let Some(governance) = shared.governance.as_ref() else { return Ok(None) };
        let copy = governance.copy();
        // An event that cannot be read may be a jump of the clock.
        if copy.state.unreadable_event().is_some() || copy.state.clock_trust().jump().is_some() {
            return Ok(None);
        }
        let (newest, clock) = (self.time_of_head()?, &*shared.environment.clock);
        let trust = *copy.state.clock_trust();
        let counted = CountedTime::by_clock(newest, &trust, clock);
        // Most looks end here, without a search.
        if self.cut_before(counted, keep_days)? < MIN_WARM_CUT_EVENTS {
            return Ok(None);
        }
        let counted = self.counted_time(&self.recorded_openings(&mut read)?, &trust)?;
        let through = self.cut_before(counted, keep_days)?;
        let Some(position) = Position::new(through).filter(|_| through >= MIN_WARM_CUT_EVENTS) else {
            return Ok(None);
        };
        if through < last_cut(&service_source(shared.id), read)?.saturating_add(MIN_WARM_CUT_EVENTS) {
            return Ok(None);
        }
        Ok(Some(WarmCut { through: position.into(), keep_days }))
    }

    /// Returns the last position that is so old; 0 if none is.
    fn cut_before(&self, now: CountedTime, keep_days: WarmDays) -> Result<u64, ReadError> {
        let oldest = now.until.0.checked_sub(u64::from(keep_days.get()) * MICROS_OF_DAY);
        let first = oldest.map(|oldest| self.first_at(Micros(oldest))).transpose()?.flatten();
        Ok(first.map_or(0, |first| first.get() - 1))
    }

    /// Records a cut of warm data. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn record_warm_cut(&self, cut: &WarmCut) -> Result<(), AppendError> {
        append_own(self.shared(), &ServiceEvent::WarmCut(cut))
    }
}
