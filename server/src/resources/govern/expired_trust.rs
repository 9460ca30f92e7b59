//! The refusal to tell the trust at a past position where observations that it rests on expired.

use bitacora_formats::{After, Data, Position};
use bitacora_ledger::{Filter, ReadError, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{EventData, RetentionExpired, TrustObserved};

use crate::problem::{Code, Problem};

/// The events that are read at once.
const PAGE_EVENTS: usize = 500;

/// Refuses a position behind an observation whose content expired: the record would lack it. The present record is part of the state that
/// decides, and lacks nothing.
pub(super) fn refuse_expired_trust(ledger: &IndexedLedger, at: Position) -> Result<(), Problem> {
    let mut removals = Vec::new();
    each_event(ledger, RetentionExpired::KIND, (Position::FIRST, None), &mut |stored| {
        let Data::Json(data) = &stored.event.data else { return false };
        let told = serde_json::from_slice::<RetentionExpired>(data.as_bytes());
        removals.extend(told.map(|told| (told.first.get(), told.last.get())));
        false
    })?;
    for (first, last) in removals.into_iter().filter(|(first, _)| *first <= at) {
        let range = (first, Some(last.min(at)));
        let expired = |stored: &StoredEvent<'_>| stored.expired_by.is_some();
        if let Some(position) = each_event(ledger, TrustObserved::KIND, range, &mut |stored| expired(stored))?
        {
            let detail = format!(
                "the trust at position {at} rests on the event at position {position}, whose content expired under the retention policy"
            );
            return Err(Problem::new(Code::ContentExpired, detail).with("position", position));
        }
    }
    Ok(())
}

/// Shows the events of a type in a range until one is taken, and returns the position of that.
fn each_event(
    ledger: &IndexedLedger,
    kind: &str,
    (first, last): (Position, Option<Position>),
    take: &mut dyn FnMut(&StoredEvent<'_>) -> bool,
) -> Result<Option<Position>, ReadError> {
    let filter = Filter { kinds: vec![kind.to_owned()], ..Filter::default() };
    let mut from = Some(ReadFrom::After(After::new(first.get() - 1)));
    while let Some(next) = from {
        let query = ReadQuery { from: next, until: last, limit: PAGE_EVENTS, filter: filter.clone() };
        let page = ledger.read(&query)?;
        if let Some(taken) = page.events.iter().find(|stored| take(stored)) {
            return Ok(Some(taken.position));
        }
        from = page.next;
    }
    Ok(None)
}
