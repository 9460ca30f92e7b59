//! The cut of warm data, and its record: the position behind which rows of read models stay on the disk.

use std::sync::Arc;

use bitacora_formats::{Data, Micros, Position};
use bitacora_governance::Governance;
use bitacora_vocabulary::{EventData, WarmCut, WarmDays};

use crate::append::own_events::append_own;
use crate::append::service_events::ServiceEvent;
use crate::ledger::Ledger;
use crate::limits::MIN_WARM_CUT_EVENTS;
use crate::query::{EventPage, Filter, ReadFrom, ReadQuery};
use crate::read_error::ReadError;
use crate::submission::append_error::AppendError;

/// Microseconds of a day.
const MICROS_OF_DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// Returns the position of the last cut that the log has a record of.
fn last_cut(mut read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>) -> Result<u64, ReadError> {
    let filter = Filter { kinds: vec![WarmCut::KIND.to_owned()], ..Filter::default() };
    let mut from = Some(ReadFrom::Before(None));
    // A page may be empty and go on all the same.
    while let Some(next) = from {
        let page = read(&ReadQuery { from: next, until: None, limit: 1, filter: filter.clone() })?;
        if let Some(Data::Json(json)) = page.events.first().map(|stored| &stored.event.data) {
            let cut = serde_json::from_slice::<WarmCut>(json.as_bytes());
            return Ok(cut.map_or(0, |cut| cut.through.get().get()));
        }
        from = page.next;
    }
    Ok(0)
}

impl Ledger {
    /// Returns the cut that is due, so that rows leave which no event of the last `keep_days` wrote: one that lies at least
    /// [`MIN_WARM_CUT_EVENTS`] events behind the last one. `None` also while the clock jumped and nobody accepted its time. The time is that
    /// of the newest event, or the clock's if that is earlier. `read` searches for the last cut.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn due_warm_cut(
        &self,
        keep_days: WarmDays,
        read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
    ) -> Result<Option<WarmCut>, ReadError> {
        let shared = self.shared();
        let has_jumped =
            |governance: &Arc<Governance>| governance.copy().state.clock_trust().jump().is_some();
        if shared.governance.as_ref().is_some_and(has_jumped) {
            return Ok(None);
        }
        let now = self.time_of_head()?.min(shared.environment.clock.now());
        let Some(oldest) = now.0.checked_sub(u64::from(keep_days.get()) * MICROS_OF_DAY) else {
            return Ok(None);
        };
        let Some(through) = self.first_at(Micros(oldest))?.and_then(|first| Position::new(first.get() - 1))
        else {
            return Ok(None);
        };
        // Most looks end here, without a search.
        if through.get() < MIN_WARM_CUT_EVENTS || through.get() < last_cut(read)? + MIN_WARM_CUT_EVENTS {
            return Ok(None);
        }
        Ok(Some(WarmCut { through: through.into(), keep_days }))
    }

    /// Records a cut of warm data. Returned `Ok` ⇒ durable.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn record_warm_cut(&self, cut: &WarmCut) -> Result<(), AppendError> {
        append_own(self.shared(), &ServiceEvent::WarmCut(cut))
    }
}
