//! Questions about stored events, and their answers.

use bitacora_formats::{After, Commitment, Event, Micros, Position, StreamVersion};

use crate::limits::MAX_PAGE_EVENTS;
use crate::receipt::Head;

/// A read: the filter, the beginning and the size of a page.
#[derive(Debug, Clone)]
pub struct ReadQuery {
    /// The beginning and the direction of the page.
    pub from: ReadFrom,
    /// The last position that may be answered, itself included.
    pub until: Option<Position>,
    /// At most this many events. A page in memory has at most [`MAX_PAGE_EVENTS`].
    pub limit: usize,
    /// The filter that events must pass.
    pub filter: Filter,
}

impl ReadQuery {
    /// The page in memory, of what `read` gives away one by one.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn collect<E>(
        &self,
        read: impl FnOnce(&Self, &mut TakeEvent<'_>) -> Result<PageEnd, E>,
    ) -> Result<EventPage, E> {
        let query = Self { limit: self.limit.min(MAX_PAGE_EVENTS), ..self.clone() };
        let mut events = Vec::new();
        let PageEnd { next, head, .. } = read(&query, &mut |stored| events.push(stored.into_owned()))?;
        Ok(EventPage { events, next, head })
    }
}

/// Takes the events of a page in, one by one; each is lent for the call.
pub type TakeEvent<'t> = dyn FnMut(StoredEvent<'_>) + 't;

/// The beginning and the direction of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// Ascending, from the first position after this one.
    After(After),
    /// Descending, from the last position before this one; `None` from the head.
    Before(Option<Position>),
}

/// A filter of events; every part that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of one of these types; empty means any.
    pub kinds: Vec<String>,
    /// Of this stream.
    pub stream: Option<String>,
    /// With this `actor`.
    pub actor: Option<String>,
    /// With this `agent`.
    pub agent: Option<String>,
    /// With this `session`.
    pub session: Option<String>,
    /// With this `run`.
    pub run: Option<String>,
    /// With this `call`.
    pub call: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Recorded at this time or later.
    pub since: Option<Micros>,
    /// Recorded before this time.
    pub before: Option<Micros>,
}

impl Filter {
    /// Returns `true` if it lets every event through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns `true` if it lets every event through that was recorded in its time.
    pub(crate) fn has_no_labels(&self) -> bool {
        Self { since: None, before: None, ..self.clone() }.is_empty()
    }

    /// Returns `true` if it lets an event through that was read without it.
    #[must_use]
    pub fn matches(&self, stored: &StoredEvent<'_>) -> bool {
        let event = &stored.event;
        let is = |asked: &Option<String>, found: Option<&str>| {
            asked.as_deref().is_none_or(|asked| found == Some(asked))
        };
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| *kind == event.kind))
            && is(&self.stream, Some(&event.stream))
            && is(&self.actor, event.actor.as_deref())
            && is(&self.agent, event.agent.as_deref())
            && is(&self.session, event.session.as_deref())
            && is(&self.run, event.run.as_deref())
            && is(&self.call, event.call.as_deref())
            && self.tag.as_ref().is_none_or(|tag| event.tags.iter().any(|found| found == tag))
            && self.since.is_none_or(|since| stored.time >= since)
            && self.before.is_none_or(|before| stored.time < before)
    }
}

/// Stored events and where to go on.
#[derive(Debug, Clone)]
pub struct EventPage {
    /// In the order asked for.
    pub events: Vec<StoredEvent<'static>>,
    /// The beginning of the next page; `None` when nothing that is durable now is left.
    pub next: Option<ReadFrom>,
    /// The durable head the page rests on.
    pub head: Head,
}

/// The summary of a page whose events were given away one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEnd {
    /// The number of events that were given away.
    pub events: usize,
    /// The beginning of the next page; `None` when nothing that is durable now is left.
    pub next: Option<ReadFrom>,
    /// The durable head the page rests on.
    pub head: Head,
    /// The tiers that were read for it.
    pub read: ReadTiers,
}

/// The tiers of a ledger that were read for a page: none where nothing that could match had to be opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadTiers {
    /// Segments on this disk, or their newest frames in memory.
    pub segments: bool,
    /// Archives.
    pub archives: bool,
}

impl ReadTiers {
    /// Adds the tiers that were read for another page.
    pub fn add(&mut self, other: Self) {
        self.segments |= other.segments;
        self.archives |= other.archives;
    }
}

/// An event as the ledger keeps it. It may borrow from its opened frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent<'a> {
    /// Its position in the ledger.
    pub position: Position,
    /// Its version in its stream.
    pub stream_version: StreamVersion,
    /// The time of its frame.
    pub time: Micros,
    /// The commitment to its record.
    pub commitment: Commitment,
    /// `true` if the reactor derived it.
    pub derived: bool,
    /// Secrets that were replaced in it before the append.
    pub redactions: u32,
    /// `true` if its contents can no longer be opened, because its subject's key is gone.
    pub erased: bool,
    /// The event that records the erasure of that key. `None` where the key is gone and nothing records why.
    pub erased_by: Option<Position>,
    /// The event that set the retention policy under which its content was removed: all but id, source, type and stream.
    pub expired_by: Option<Position>,
    /// `true` if its contents cannot be opened for now: the file of its subject's key is damaged, and a copy of that file brings them
    /// back.
    pub unreadable: bool,
    /// The event as the client sent it.
    pub event: Event<'a>,
}

impl StoredEvent<'_> {
    /// The same with texts of its own.
    #[must_use]
    pub fn into_owned(self) -> StoredEvent<'static> {
        StoredEvent {
            position: self.position,
            stream_version: self.stream_version,
            time: self.time,
            commitment: self.commitment,
            derived: self.derived,
            redactions: self.redactions,
            erased: self.erased,
            erased_by: self.erased_by,
            expired_by: self.expired_by,
            unreadable: self.unreadable,
            event: self.event.into_owned(),
        }
    }
}
