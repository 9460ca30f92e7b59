//! The retention policy in the background: content of expired events goes from archives, read models and the index.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bitacora_archiver::{
    ArchivePace, Archiver, ArchiverError, ExpiryMode, ExpiryReport, ExpiryResult, RestingEvents,
};
use bitacora_formats::{After, LedgerName, Position, format_time};
use bitacora_ledger::limits::MAX_PAGE_EVENTS;
use bitacora_ledger::{ExpiryRulesError, Filter, ReadError, ReadFrom, ReadQuery};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{EventData, RetentionExpired};

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
    pub(super) fn look(&mut self, name: &LedgerName, ledger: &IndexedLedger, archiver: &Archiver) {
        if self.next.get(name).is_some_and(|next| Instant::now() < *next) {
            return;
        }
        let expired = expire(name, ledger, archiver);
        let caught_up = catch_up(ledger).map_err(RetentionError::from);
        let pause = match &expired {
            Err(RetentionError::Archiver(error)) if error.may_succeed_soon() => {
                self.pause.min(PAUSE_AFTER_CHANGE)
            }
            _ => self.pause,
        };
        self.next.insert(name.clone(), Instant::now() + pause);
        match expired.and(caught_up) {
            Ok(()) => {}
            Err(RetentionError::Archiver(ArchiverError::Stopped)) => {}
            Err(error) => {
                tracing::warn!(ledger = %name, %error, "expired events could not be removed; it is tried again later");
            }
        }
    }
}

/// Has read models folded again that may hold rows of what was removed, by this service or an earlier one.
fn catch_up(ledger: &IndexedLedger) -> Result<(), ReadError> {
    let filter = Filter { kinds: vec![RetentionExpired::KIND.to_owned()], ..Filter::default() };
    let mut from = Some(ReadFrom::After(After::START));
    let mut last: Option<Position> = None;
    while let Some(next) = from {
        let query = ReadQuery { from: next, until: None, limit: MAX_PAGE_EVENTS, filter: filter.clone() };
        let page = ledger.read(&query)?;
        last = page.events.last().map(|event| event.position).or(last);
        from = page.next;
    }
    if let Some((models, last)) = ledger.read_models().zip(last) {
        models.expire(last);
    }
    Ok(())
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
