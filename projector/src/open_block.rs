//! The newest block of the index, in memory, growing.

use bitacora_formats::{IndexField, IndexTerm, IndexTerms, Position, Record};

use crate::limits::{BLOCK_ENTRIES, MAX_EVENT_ENTRIES, UNSORTED_ENTRIES};

/// The entries of one block that has no end yet.
pub(crate) struct OpenBlock {
    first: Position,
    /// Events that are in it, from `first`.
    events: u64,
    /// Events it takes at most.
    capacity: u64,
    /// Sorted pieces of the entries.
    runs: Vec<Vec<u64>>,
    /// The entries since the last piece was sorted.
    unsorted: Vec<u64>,
    entries: usize,
}

impl OpenBlock {
    /// A block without events, which begins at `first` and takes so many.
    pub(crate) fn new(first: Position, capacity: u64) -> Self {
        Self { first, events: 0, capacity, runs: Vec::new(), unsorted: Vec::new(), entries: 0 }
    }

    /// A block that goes on where a stored one ended; `entries` are sorted.
    pub(crate) fn going_on(first: Position, last: Position, entries: Vec<u64>, capacity: u64) -> Self {
        let events = last.get() + 1 - first.get();
        Self { first, events, capacity, entries: entries.len(), runs: vec![entries], unsorted: Vec::new() }
    }

    /// Its first position.
    pub(crate) fn first(&self) -> Position {
        self.first
    }

    /// The last position that it knows; `None` while it is empty.
    pub(crate) fn last(&self) -> Option<Position> {
        self.first.plus(self.events.checked_sub(1)?)
    }

    /// The position it goes on with.
    pub(crate) fn next(&self) -> Option<Position> {
        self.first.plus(self.events)
    }

    /// Returns `true` if it takes no more events. The end of a block is a function of the log alone.
    pub(crate) fn is_full(&self) -> bool {
        self.events >= self.capacity || self.entries >= BLOCK_ENTRIES
    }

    /// Returns the beginning of the block, and its remaining room.
    pub(crate) fn bounds(&self) -> BlockBounds {
        let last_possible = self.first.plus(self.capacity - 1).unwrap_or(self.first);
        let entries_left = BLOCK_ENTRIES.saturating_sub(self.entries);
        BlockBounds { first: self.first, last_possible, entries_left }
    }

    /// Takes in what was gathered.
    pub(crate) fn append(&mut self, gathered: &EntryBatch) {
        self.events += gathered.events;
        self.entries += gathered.entries.len();
        self.unsorted.extend_from_slice(&gathered.entries);
        if self.unsorted.len() >= UNSORTED_ENTRIES {
            let mut run = self.unsorted.clone();
            run.sort_unstable();
            self.runs.push(run);
            self.unsorted.clear();
        }
    }

    /// All entries, sorted.
    pub(crate) fn sorted_entries(&self) -> Vec<u64> {
        let mut entries = Vec::with_capacity(self.entries);
        self.runs.iter().for_each(|run| entries.extend_from_slice(run));
        entries.extend_from_slice(&self.unsorted);
        entries.sort_unstable();
        entries
    }

    /// The offsets between `first` and `last` of the events that carry a term, ascending.
    pub(crate) fn offsets(&self, term: IndexTerm, first: u64, last: u64) -> Vec<u64> {
        let wanted = term.entries(first, last);
        let mut offsets = Vec::new();
        for run in &self.runs {
            let begin = run.partition_point(|entry| entry < wanted.start());
            let found =
                run.get(begin..).unwrap_or_default().iter().take_while(|entry| *entry <= wanted.end());
            offsets.extend(found.map(|entry| IndexTerm::offset_of(*entry)));
        }
        let found = self.unsorted.iter().filter(|entry| wanted.contains(entry));
        offsets.extend(found.map(|entry| IndexTerm::offset_of(*entry)));
        offsets
    }
}

/// The beginning of a block, and its remaining room.
#[derive(Clone, Copy)]
pub(crate) struct BlockBounds {
    first: Position,
    last_possible: Position,
    entries_left: usize,
}

impl BlockBounds {
    pub(crate) fn first(self) -> Position {
        self.first
    }

    /// The last position that a block of this beginning can cover.
    pub(crate) fn last_possible(self) -> Position {
        self.last_possible
    }

    /// Entries after which no further event is taken.
    pub(crate) fn entries_left(self) -> usize {
        self.entries_left
    }
}

/// The entries of some events on their way into a block.
pub(crate) struct EntryBatch {
    entries: Vec<u64>,
    events: u64,
}

impl EntryBatch {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::with_capacity(MAX_EVENT_ENTRIES), events: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.events = 0;
    }

    /// Events that were taken in.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Entries they have.
    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Takes in the event at `offset` of its block.
    pub(crate) fn event(&mut self, terms: &IndexTerms, offset: u64, record: &Record<'_>) {
        let begin = self.entries.len();
        let labels = [
            (IndexField::Kind, Some(&record.kind)),
            (IndexField::Stream, Some(&record.stream)),
            (IndexField::Actor, record.actor.as_ref()),
            (IndexField::Agent, record.agent.as_ref()),
            (IndexField::Session, record.session.as_ref()),
            (IndexField::Run, record.run.as_ref()),
            (IndexField::Call, record.call.as_ref()),
        ];
        for (field, value) in labels {
            self.entries.extend(value.map(|value| terms.term(field, value).entry(offset)));
        }
        for tag in &record.tags {
            let entry = terms.term(IndexField::Tag, tag).entry(offset);
            // An event may carry a tag twice, and a block holds an entry once.
            if !self.entries.get(begin..).is_some_and(|own| own.contains(&entry)) {
                self.entries.push(entry);
            }
        }
        self.events += 1;
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::Secret;

    use super::*;

    fn record(number: u64) -> Record<'static> {
        let mut event =
            bitacora_formats::Event::new(format!("e{number}"), "urn:t", format!("k{}", number % 3), "s");
        event.tags = vec!["twice".into(), "once".into(), "twice".into()];
        match Record::draft(event, 0) {
            bitacora_formats::EventDraft::Clear(record) => record,
            bitacora_formats::EventDraft::Sensitive { .. } => unreachable!("no data subject"),
        }
    }

    #[test]
    fn what_was_appended_is_found_sorted_or_not() {
        let terms = IndexTerms::new(&Secret::take(&mut [3; 32]));
        let mut block = OpenBlock::new(Position::new(11).unwrap(), 1 << 18);
        let mut gathered = EntryBatch::new();
        let events = UNSORTED_ENTRIES as u64;
        for offset in 0..events {
            gathered.event(&terms, offset, &record(offset));
            if offset % 1_000 == 999 {
                block.append(&gathered);
                gathered.clear();
            }
        }
        block.append(&gathered);
        assert!(!block.runs.is_empty() && !block.unsorted.is_empty(), "both kinds are there");
        assert_eq!((block.first().get(), block.last().unwrap().get()), (11, 10 + events));
        let found = block.offsets(terms.term(IndexField::Kind, "k1"), 100, events);
        assert_eq!(found, (100..events).filter(|offset| offset % 3 == 1).collect::<Vec<_>>());
        assert_eq!(block.offsets(terms.term(IndexField::Tag, "twice"), 0, events).len() as u64, events);
        assert!(block.offsets(terms.term(IndexField::Kind, "twice"), 0, events).is_empty());
        let entries = block.sorted_entries();
        assert!(entries.is_sorted_by(|one, next| one < next));
        let again = OpenBlock::going_on(block.first(), block.last().unwrap(), entries.clone(), 1 << 18);
        assert_eq!((again.next(), again.sorted_entries()), (block.next(), entries));
    }
}
