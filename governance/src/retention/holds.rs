//! Legal holds: the events that are neither removed nor erased, whatever the retention policy says and whoever asks.

use std::collections::BTreeMap;

use bitacora_formats::{Micros, Position};
use bitacora_vocabulary::{EventPosition, FreeText, HoldPlaced, HoldReleased, HoldScope, Name, SubjectKeyId};
use serde::{Deserialize, Serialize};

use crate::limits::MAX_HOLDS;
use crate::refusal::{ReactorRefusal, RefusalCode, no_such, quoted};

/// The holds in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    by_id: BTreeMap<Name, Hold>,
}

/// A hold in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The events that it covers.
    pub scope: HoldScope,
    /// The event that placed it.
    pub position: EventPosition,
    /// The time of that event.
    pub time: Micros,
    /// The person on whose behalf it was placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Name>,
    /// The reason.
    pub reason: FreeText,
}

impl Hold {
    /// Returns `true` if it covers the event at this position of this stream, whose data is sealed under this key, if under any.
    #[must_use]
    pub fn covers(&self, position: Position, stream: &str, key: Option<SubjectKeyId>) -> bool {
        let HoldScope { key: held, first, last, stream: named } = &self.scope;
        held.is_none_or(|held| key == Some(held))
            && first.is_none_or(|first| first.get() <= position)
            && last.is_none_or(|last| position <= last.get())
            && named.as_ref().is_none_or(|named| named.as_str() == stream)
    }

    /// Returns `true` if it covers everything.
    #[must_use]
    pub fn covers_everything(&self) -> bool {
        self.scope == HoldScope::default()
    }
}

impl Holds {
    /// Returns a hold that covers the event at this position of this stream, whose data is sealed under this key, if under any; of
    /// several the first by its id.
    #[must_use]
    pub fn covering(
        &self,
        position: Position,
        stream: &str,
        key: Option<SubjectKeyId>,
    ) -> Option<(&Name, &Hold)> {
        self.by_id.iter().find(|(_, hold)| hold.covers(position, stream, key))
    }

    /// Returns the holds, by their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &Hold)> {
        self.by_id.iter()
    }

    /// Returns the hold with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Hold> {
        self.by_id.get(id)
    }

    /// Returns `true` if nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Checks that a hold may be placed by the event at this position: every event before it is recorded, and none behind it is known.
    pub(crate) fn may_place(&self, placed: &HoldPlaced, at: Position) -> Result<(), ReactorRefusal> {
        let invalid = |reason: String| Err(ReactorRefusal::new(RefusalCode::InvalidData, reason));
        let HoldScope { first, last, .. } = &placed.scope;
        if self.by_id.contains_key(&placed.hold) {
            return invalid(format!("hold {} is in force; use another id", quoted(&placed.hold)));
        }
        if let Some(last) = last.filter(|last| last.get() >= at) {
            let last = last.get();
            return invalid(format!(
                "the scope ends at position {last}, and the last event is before {at}; leave the end out to hold events to come"
            ));
        }
        if let (Some(first), Some(last)) = (first, last)
            && first > last
        {
            let (first, last) = (first.get(), last.get());
            return invalid(format!("the scope begins at position {first} and ends before, at {last}"));
        }
        if self.by_id.len() >= MAX_HOLDS {
            return Err(ReactorRefusal::too_many("holds"));
        }
        Ok(())
    }

    /// Checks that a hold may be released.
    pub(crate) fn may_release(&self, released: &HoldReleased) -> Result<(), ReactorRefusal> {
        if self.by_id.contains_key(&released.hold) {
            return Ok(());
        }
        Err(no_such(&format_args!("hold {}", quoted(&released.hold))))
    }

    pub(crate) fn apply_placed(&mut self, placed: &HoldPlaced, position: EventPosition, time: Micros) {
        let HoldPlaced { hold, scope, by, reason } = placed.clone();
        self.by_id.insert(hold, Hold { scope, position, time, by, reason });
    }

    pub(crate) fn apply_released(&mut self, hold: &Name) {
        self.by_id.remove(hold);
    }
}

#[cfg(test)]
mod tests;
