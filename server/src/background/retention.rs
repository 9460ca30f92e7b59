//! The retention policy in the background: content of expired events goes from archives, read models and the index.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use bitacora_archiver::{
    ArchivePace, Archiver, ArchiverError, ExpiryMode, ExpiryReport, ExpiryResult, RestingEvents,
};
use bitacora_formats::{After, Data, Event, LedgerName, Position, format_time};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{ExpiryRulesError, Filter, ReadError, ReadFrom, ReadQuery};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{ArchiveSealed, EventData, RetentionExpired};

/// The pause after a look that a new hold or policy ended.
const PAUSE_AFTER_CHANGE: Duration = Duration::from_secs(10 * 60);

/// The reasons for which expired events stay for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum RetentionError {
    #[error(transparent)]
    Rules(#[from] ExpiryRulesError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Archiver(#[from] ArchiverError),
}

/// The ledgers, each with the time of its next look for expired events.
#[derive(Debug)]
pub(super) struct RetentionLooks {
    next: BTreeMap<LedgerName, Instant>,
    pause: Duration,
}

impl RetentionLooks {
    /// Looks at a ledger no more often than this.
    pub(super) fn every(pause: Duration) -> Self {
        Self { next: BTreeMap::new(), pause }
    }

    /// Removes what expired since, if it is time to look again: archives are read whole for that.
    pub(super) fn look(
        &mut self,
        name: &LedgerName,
        ledger: &IndexedLedger,
        archiver: impl FnOnce() -> Archiver,
    ) {
        if self.next.get(name).is_some_and(|next| Instant::now() < *next) {
            return;
        }
        let looked = catch_unwind(AssertUnwindSafe(|| {
            let expired = expire(name, ledger, &archiver());
            // Also where nothing could be removed now: an earlier run may have removed something.
            let caught_up = catch_up(ledger).map_err(RetentionError::from);
            expired.and(caught_up)
        }));
        let pause = match &looked {
            Ok(Err(RetentionError::Archiver(error))) if error.may_succeed_soon() => {
                self.pause.min(PAUSE_AFTER_CHANGE)
            }
            _ => self.pause,
        };
        self.next.insert(name.clone(), Instant::now() + pause);
        match looked {
            Ok(Ok(()) | Err(RetentionError::Archiver(ArchiverError::Stopped))) => {}
            Ok(Err(error)) => {
                tracing::warn!(ledger = %name, %error, "expired events could not be removed; it is tried again later");
            }
            Err(_) => {
                tracing::error!(ledger = %name, "the removal of expired events panicked; it is tried again later");
            }
        }
    }
}

/// Has read models folded again that may hold rows of what was removed, by this service or an earlier one. The last record of a removal
/// comes behind the keeping of the archive without the content: a fold that begins behind it meets none.
fn catch_up(ledger: &IndexedLedger) -> Result<(), ReadError> {
    let kinds = [RetentionExpired::KIND, ArchiveSealed::KIND].map(str::to_owned).to_vec();
    let filter = Filter { kinds, ..Filter::default() };
    let mut from = Some(ReadFrom::After(After::START));
    let mut last: Option<Position> = None;
    while let Some(next) = from {
        let query = ReadQuery { from: next, until: None, limit: MAX_PAGE_EVENTS, filter: filter.clone() };
        let page = ledger.read(&query)?;
        let removal = page.events.iter().rev().find(|stored| records_removal(&stored.event));
        last = removal.map(|stored| stored.position).or(last);
        from = page.next;
    }
    if let Some((models, last)) = ledger.read_models().zip(last) {
        models.expire(last);
    }
    Ok(())
}

/// Returns `true` if an event records that content was removed, or that a later revision of an archive is kept.
fn records_removal(event: &Event<'_>) -> bool {
    let Data::Json(json) = &event.data else { return false };
    event.kind == RetentionExpired::KIND
        || serde_json::from_slice::<ArchiveSealed>(json.as_bytes())
            .is_ok_and(|sealed| sealed.archive.as_str().rsplit('/').next().is_some_and(is_later_revision))
}

/// Returns `true` if this is the name of an archive's later revision: `<first>-<last>.r<number>.bca`.
fn is_later_revision(object: &str) -> bool {
    object.contains(".r")
}

fn expire(name: &LedgerName, ledger: &IndexedLedger, archiver: &Archiver) -> Result<(), RetentionError> {
    let history = ledger.ledger().retention_history(|query| ledger.read(query))?;
    let Some(rules) = ledger.ledger().expiry_rules(history)? else {
        return Ok(archiver.settle_expiry(ArchivePace::Background)?);
    };
    if let Some(until) = rules.standstill() {
        let until = format_time(until);
        tracing::warn!(ledger = %name, until, "nothing was recorded for more than a week before a start, or the clock is ahead: ages of events are counted up to then until the service has run for a day");
    }
    archiver.expire(&rules, ExpiryMode::Remove, ArchivePace::Background, &mut |report| {
        if matches!(report.result, ExpiryResult::Removed { .. }) {
            ledger.expire(report.range.first()..=report.range.last());
        }
        log(name, &report);
    })?;
    Ok(())
}

fn log(ledger: &LedgerName, report: &ExpiryReport) {
    let (range, events) = (report.range, report.events());
    if let Some(RestingEvents { kinds, why }) = &report.resting {
        let events = kinds.values().sum::<u64>();
        tracing::info!(%ledger, positions = %range, events, %why, "expired events stay: the deciding state rests on them");
    }
    match report.result {
        ExpiryResult::Removed { bytes } => {
            tracing::info!(%ledger, positions = %range, events, bytes, "the content of expired events was removed");
        }
        ExpiryResult::WaitsForRelease => {
            tracing::info!(%ledger, positions = %range, events, "expired events stay until their segments are released");
        }
        ExpiryResult::Due | ExpiryResult::WaitsForState => {}
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::Json;

    use super::*;

    #[test]
    fn an_event_that_seals_a_later_revision_records_a_removal() {
        let of = |kind: &'static str, archive: &str| {
            let mut event = Event::new("e", "urn:test", kind, "ledger");
            let digest = "5a".repeat(32);
            let data = format!(
                r#"{{"archive":"{archive}","first":"1","last":"9","bytes":1,"manifest_sha256":"{digest}"}}"#
            );
            event.data = Data::Json(Json::check(data.into_bytes()).unwrap());
            records_removal(&event)
        };
        assert!(of(RetentionExpired::KIND, "l/g1/1-9.r1.bca"));
        assert!(of(ArchiveSealed::KIND, "l/g1/1-9.r1.bca"));
        assert!(!of(ArchiveSealed::KIND, "l.r1/g1/1-9.bca"));
    }
}
