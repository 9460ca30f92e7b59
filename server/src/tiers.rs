//! A cache for the answers about tiers: the size of each deciding state, and the sealed archives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bitacora_api::{ArchiveTierAnswer, ArchivedRange};
use bitacora_formats::{After, Data, LedgerName, Micros, Position, format_time};
use bitacora_governance::{StateCopy, UnwritableState};
use bitacora_ledger::{Filter, ReadError, ReadFrom, ReadQuery, StoredEvent};
use bitacora_projector::IndexedLedger;
use bitacora_vocabulary::{ArchiveSealed, EventData};

use crate::limits::{MAX_LISTED, MAX_TIER_PAGES, MAX_TIER_RANGES, STATE_SIZE_AGE};

/// The remembered facts of each ledger. One question of a ledger measures; the others wait for it.
#[derive(Default)]
pub(crate) struct TierCache(Mutex<BTreeMap<LedgerName, Arc<Mutex<TierMemory>>>>);

impl TierCache {
    /// Returns the memory of a ledger.
    pub(crate) fn of(&self, ledger: &LedgerName) -> Arc<Mutex<TierMemory>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(ledger.clone()).or_default())
    }
}

/// The remembered facts of one ledger.
#[derive(Default)]
pub(crate) struct TierMemory {
    state_size: Option<StateSize>,
    archives: SealedArchives,
}

/// The size of a deciding state, with the time at which it was measured.
#[derive(Clone, Copy)]
pub(crate) struct StateSize {
    /// Bytes of its text.
    pub(crate) bytes: u64,
    /// The last event that was folded in it then.
    pub(crate) position: Option<Position>,
    measured: Instant,
}

impl TierMemory {
    /// Returns the size of the state: measured now, or up to [`STATE_SIZE_AGE`] ago.
    pub(crate) fn state_size(&mut self, copy: &StateCopy) -> Result<StateSize, UnwritableState> {
        let is_fresh =
            |size: &StateSize| size.position == copy.through || size.measured.elapsed() < STATE_SIZE_AGE;
        if let Some(size) = self.state_size.filter(is_fresh) {
            return Ok(size);
        }
        let size =
            StateSize { bytes: copy.state.text_bytes()?, position: copy.through, measured: Instant::now() };
        self.state_size = Some(size);
        Ok(size)
    }

    /// Counts the archives that were sealed since the last question.
    pub(crate) fn cold(
        &mut self,
        ledger: &IndexedLedger,
        head: Position,
    ) -> Result<ArchiveTierAnswer, ReadError> {
        self.archives.follow(ledger, head)?;
        Ok(self.archives.answer())
    }
}

/// The archives of a ledger by their first positions, as its events record them.
#[derive(Default)]
struct SealedArchives {
    /// The last position up to which every event is counted.
    through: u64,
    by_first: BTreeMap<u64, SealedArchive>,
    last_sealed: Option<Micros>,
}

/// An archive that was read back whole.
struct SealedArchive {
    last: u64,
    bytes: u64,
    store: Option<Arc<str>>,
    sealed: Micros,
}

impl SealedArchives {
    /// Reads on, at most [`MAX_TIER_PAGES`] pages.
    fn follow(&mut self, ledger: &IndexedLedger, head: Position) -> Result<(), ReadError> {
        for _ in 0..MAX_TIER_PAGES {
            if self.through >= head.get() {
                return Ok(());
            }
            let page = ledger.read(&ReadQuery {
                from: ReadFrom::After(After::new(self.through)),
                until: Some(head),
                limit: MAX_LISTED,
                filter: Filter { kinds: vec![ArchiveSealed::KIND.to_owned()], ..Filter::default() },
            })?;
            page.events.iter().for_each(|stored| self.take(stored));
            self.through = match page.next {
                Some(ReadFrom::After(after)) => after.get(),
                Some(ReadFrom::Before(_)) | None => head.get(),
            };
        }
        Ok(())
    }

    fn take(&mut self, stored: &StoredEvent<'_>) {
        let Data::Json(json) = &stored.event.data else { return };
        let Ok(sealed) = serde_json::from_slice::<ArchiveSealed>(json.as_bytes()) else { return };
        self.last_sealed = self.last_sealed.max(Some(stored.time));
        let store = sealed.store.as_deref().map(|store| {
            // Nearly always the same as that of the one before.
            let before = self.by_first.values().next_back().and_then(|archive| archive.store.clone());
            before.filter(|before| **before == *store).unwrap_or_else(|| store.into())
        });
        let archive = SealedArchive {
            last: sealed.last.get().get(),
            bytes: sealed.bytes.get(),
            store,
            sealed: stored.time,
        };
        self.insert(sealed.first.get().get(), archive);
    }

    /// Takes in an archive, in the place of those whose events it holds again.
    fn insert(&mut self, first: u64, archive: SealedArchive) {
        let held = self.by_first.range(first..=archive.last.max(first));
        let held: Vec<u64> =
            held.filter(|(_, held)| held.last <= archive.last).map(|(first, _)| *first).collect();
        for first in held {
            self.by_first.remove(&first);
        }
        self.by_first.insert(first, archive);
    }

    fn answer(&self) -> ArchiveTierAnswer {
        let mut ranges: Vec<Range<'_>> = Vec::new();
        for (first, archive) in &self.by_first {
            match ranges.last_mut() {
                Some(range) if range.goes_on_with(*first, archive) => range.add(archive),
                _ => ranges.push(Range::of(*first, archive)),
            }
        }
        let more_ranges = ranges.len().saturating_sub(MAX_TIER_RANGES) as u64;
        ArchiveTierAnswer {
            position: self.through.to_string(),
            archives: self.by_first.len() as u64,
            events: self.by_first.iter().map(|(first, archive)| archive.last - first + 1).sum(),
            bytes: self.by_first.values().map(|archive| archive.bytes).sum(),
            ranges: ranges.into_iter().take(MAX_TIER_RANGES).map(Range::answer).collect(),
            more_ranges,
            last_sealed: self.last_sealed.map(format_time),
            scrubbed: None,
            faulty: Vec::new(),
        }
    }
}

/// Archives whose positions follow one another, in one store.
struct Range<'a> {
    first: u64,
    last: u64,
    archives: u64,
    bytes: u64,
    store: Option<&'a str>,
    verified: Micros,
}

impl<'a> Range<'a> {
    fn of(first: u64, archive: &'a SealedArchive) -> Self {
        let (last, bytes, verified) = (archive.last, archive.bytes, archive.sealed);
        Self { first, last, archives: 1, bytes, store: archive.store.as_deref(), verified }
    }

    fn goes_on_with(&self, first: u64, archive: &SealedArchive) -> bool {
        self.last.checked_add(1) == Some(first) && self.store == archive.store.as_deref()
    }

    fn add(&mut self, archive: &SealedArchive) {
        self.last = archive.last;
        self.archives += 1;
        self.bytes += archive.bytes;
        self.verified = self.verified.min(archive.sealed);
    }

    fn answer(self) -> ArchivedRange {
        ArchivedRange {
            first: self.first.to_string(),
            last: self.last.to_string(),
            archives: self.archives,
            bytes: self.bytes,
            store: self.store.map(str::to_owned),
            verified: format_time(self.verified),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archives(all: &[(u64, u64, &str)]) -> SealedArchives {
        let mut archives = SealedArchives::default();
        for (number, (first, last, store)) in (1..).zip(all) {
            let (store, sealed) = (Some((*store).into()), Micros(number));
            archives.insert(*first, SealedArchive { last: *last, bytes: 10, store, sealed });
        }
        archives
    }

    fn ranges(all: &[(u64, u64, &str)]) -> Vec<(String, String, u64)> {
        let answer = archives(all).answer();
        answer.ranges.into_iter().map(|range| (range.first, range.last, range.archives)).collect()
    }

    #[test]
    fn archives_that_follow_one_another_in_one_store_are_one_range() {
        let range = |first: u64, last: u64, count| (first.to_string(), last.to_string(), count);
        assert_eq!(ranges(&[(1, 10, "a"), (11, 20, "a")]), [range(1, 20, 2)]);
        assert_eq!(ranges(&[(11, 20, "a"), (1, 10, "a")]), [range(1, 20, 2)]);
        assert_eq!(ranges(&[(1, 10, "a"), (11, 20, "b")]), [range(1, 10, 1), range(11, 20, 1)]);
        assert_eq!(ranges(&[(1, 10, "a"), (12, 20, "a")]), [range(1, 10, 1), range(12, 20, 1)]);
    }

    #[test]
    fn an_archive_that_holds_another_again_is_counted_in_its_place() {
        let answer = archives(&[(1, 10, "a"), (11, 20, "a"), (1, 20, "a"), (1, 20, "a")]).answer();
        assert_eq!((answer.archives, answer.events, answer.bytes), (1, 20, 10));
    }

    #[test]
    fn a_range_names_the_oldest_of_its_checks_and_long_lists_are_cut() {
        let answer = archives(&[(11, 20, "a"), (1, 10, "a")]).answer();
        assert_eq!(answer.ranges[0].verified, format_time(Micros(1)));
        let many: Vec<_> =
            (0..MAX_TIER_RANGES as u64 + 3).map(|number| (1 + number * 2, 1 + number * 2, "a")).collect();
        let answer = archives(&many).answer();
        assert_eq!((answer.ranges.len(), answer.more_ranges), (MAX_TIER_RANGES, 3));
        assert_eq!(answer.archives, many.len() as u64);
    }
}
