//! The holds that keep a data subject's key from being destroyed.
//!
//! A hold that covers everything, or names the key, is found without a look at the log. For holds that name no key the log is read, over
//! their ranges and no further.

use std::ops::RangeInclusive;

use bitacora_formats::{After, Position, RecordData};
use bitacora_governance::Holds;
use bitacora_vocabulary::{EventPosition, Name, SubjectKeyId};

use crate::ledger::visit::records;
use crate::limits::HELD_EVENTS_READ_AT_ONCE;
use crate::read_error::ReadError;
use crate::shared_state::SharedState;

/// The reasons for which a key stays.
pub(crate) enum KeyHold {
    /// This hold, which that event placed, covers events that are sealed under it.
    Held(Name, Position),
    /// An event that governs cannot be read by this program, and may be a hold.
    Unknown(Position),
    /// The events that holds cover cannot be read.
    Unread(ReadError),
}

/// Looks for a hold on events that are sealed under a key. The caller lets no hold be placed meanwhile.
pub(crate) fn hold_on(shared: &SharedState, key: SubjectKeyId) -> Option<KeyHold> {
    let copy = shared.governance.as_ref()?.copy();
    if let Some(position) = copy.state.unreadable_event() {
        return Some(KeyHold::Unknown(position));
    }
    let holds = copy.state.holds();
    let at_once = holds.iter().find(|(_, hold)| hold.scope.key == Some(key) || hold.covers_everything());
    let found = match at_once {
        Some((hold, _)) => Some(hold.clone()),
        None => match covering(shared, holds, key) {
            Ok(found) => found,
            Err(error) => return Some(KeyHold::Unread(error)),
        },
    };
    let hold = found?;
    let position = holds.get(&hold)?.position.get();
    Some(KeyHold::Held(hold, position))
}

/// Reads the ranges of all holds that name no key, and returns the first hold that covers an event that is sealed under this one.
fn covering(shared: &SharedState, holds: &Holds, key: SubjectKeyId) -> Result<Option<Name>, ReadError> {
    let mut found = None;
    for range in ranges(holds, shared.read.head().position) {
        let (mut after, end) = (After::new(range.start().get() - 1), *range.end());
        while found.is_none() && after.get() < end.get() {
            let until = after.get().saturating_add(HELD_EVENTS_READ_AT_ONCE).min(end.get());
            let until = Position::new(until).unwrap_or(end);
            records(shared, after, until, &mut |visited| {
                let RecordData::Sealed(seal) = &visited.record.data else { return };
                if found.is_none() && seal.subject_key == key.bytes() {
                    let hold = holds.covering(visited.position, &visited.record.stream, Some(key));
                    found = hold.map(|(hold, _)| hold.clone());
                }
            })?;
            after = until.into();
        }
    }
    Ok(found)
}

/// Returns the ranges that holds without a key cover of the log up to its head, in order and apart from each other.
fn ranges(holds: &Holds, head: Position) -> Vec<RangeInclusive<Position>> {
    let keyless = holds.iter().map(|(_, hold)| &hold.scope).filter(|scope| scope.key.is_none());
    let mut ranges: Vec<_> = keyless
        .map(|scope| {
            let first = scope.first.map_or(Position::FIRST, EventPosition::get);
            (first, scope.last.map_or(head, EventPosition::get).min(head))
        })
        .filter(|(first, last)| first <= last)
        .collect();
    ranges.sort_unstable();
    let mut apart: Vec<RangeInclusive<Position>> = Vec::new();
    for (first, last) in ranges {
        match apart.last_mut() {
            Some(before) if first <= *before.end() => *before = *before.start()..=last.max(*before.end()),
            _ => apart.push(first..=last),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{Data, Event, Json, Micros, StreamVersion};
    use bitacora_governance::{Governance, ObservedEvent, Reactor};
    use serde_json::{Value, json};

    use super::*;

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    /// Returns the ranges that are read for holds with these scopes.
    fn read(scopes: &[Value]) -> Vec<(u64, u64)> {
        let governance = Governance::default();
        let mut state = governance.state();
        for (index, scope) in scopes.iter().enumerate() {
            let data = json!({"hold": format!("h{index}"), "scope": scope, "reason": "r"});
            let mut event = Event::new("e", "urn:test", "hold.placed", "ledger");
            event.data = Data::Json(Json::check(data.to_string().into_bytes()).unwrap());
            let (stream_version, time) = (StreamVersion::FIRST, Micros(1));
            let observed = ObservedEvent {
                position: position(100),
                stream_version,
                time,
                derived: false,
                event: &event,
                examination: None,
            };
            state.fold(&[observed]);
        }
        let copy = governance.copy();
        ranges(copy.state.holds(), position(50))
            .iter()
            .map(|range| (range.start().get(), range.end().get()))
            .collect()
    }

    #[test]
    fn ranges_are_read_once_and_end_at_the_head() {
        for (scopes, expected) in [
            (vec![], vec![]),
            (vec![json!({"stream": "s"})], vec![(1, 50)]),
            (vec![json!({"key": "a1".repeat(16), "stream": "s"})], vec![]),
            (vec![json!({"first": "7"}), json!({"first": "60"})], vec![(7, 50)]),
            (
                vec![
                    json!({"first": "30", "last": "40"}),
                    json!({"last": "9"}),
                    json!({"first": "9", "last": "12"}),
                ],
                vec![(1, 12), (30, 40)],
            ),
            (vec![json!({"first": "2", "last": "40"}), json!({"first": "3", "last": "4"})], vec![(2, 40)]),
        ] {
            assert_eq!(read(&scopes), expected, "{scopes:?}");
        }
    }
}
