//! The removals of expired content that the log records, and the archives that it seals.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_formats::{After, Data, Json, Position, Record, RecordData};
use bitacora_vocabulary::{ArchiveSealed, EventData, RetentionExpired, Sha256Text};

use crate::limits::MAX_PAGE_EVENTS;
use crate::query::{EventPage, Filter, ReadFrom, ReadQuery, StoredEvent};
use crate::read_error::ReadError;

/// The archives that a ledger's log names, by the digests of their signed manifests. Each event is read once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedArchives {
    /// The number of the first events that were read.
    read: u64,
    /// Those that a removal of expired content made.
    of_removals: BTreeSet<Sha256Text>,
    /// The policies under which content of these ranges was removed.
    removed: BTreeMap<(Position, Position), BTreeSet<Position>>,
    sealed: BTreeSet<Sha256Text>,
}

impl RecordedArchives {
    /// Reads, by `read`, what the log recorded since the call before.
    ///
    /// # Errors
    /// Those of `read`; the next call goes on there.
    pub fn read_on(
        &mut self,
        mut read: impl FnMut(&ReadQuery) -> Result<EventPage, ReadError>,
    ) -> Result<(), ReadError> {
        let kinds = [RetentionExpired::KIND, ArchiveSealed::KIND].map(str::to_owned).to_vec();
        let filter = Filter { kinds, ..Filter::default() };
        loop {
            let from = ReadFrom::After(After::new(self.read));
            let query = ReadQuery { from, until: None, limit: MAX_PAGE_EVENTS, filter: filter.clone() };
            let page = read(&query)?;
            page.events.iter().for_each(|stored| self.take(stored));
            let Some(ReadFrom::After(next)) = page.next else {
                self.read = page.head.position.get();
                return Ok(());
            };
            self.read = next.get();
        }
    }

    fn take(&mut self, stored: &StoredEvent<'_>) {
        if let Data::Json(json) = &stored.event.data {
            self.take_data(&stored.event.kind, json);
        }
    }

    /// Takes in an event by its record, where no ledger is open.
    pub fn note(&mut self, record: &Record<'_>) {
        if let RecordData::Json(json) = &record.data {
            self.take_data(&record.kind, json);
        }
    }

    fn take_data(&mut self, kind: &str, json: &Json<'_>) {
        if kind == RetentionExpired::KIND {
            let Ok(removal) = serde_json::from_slice::<RetentionExpired>(json.as_bytes()) else { return };
            let range = (removal.first.get(), removal.last.get());
            self.removed.entry(range).or_default().insert(removal.policy.get());
            self.of_removals.insert(removal.manifest_sha256);
        } else if kind == ArchiveSealed::KIND {
            let sealed = serde_json::from_slice::<ArchiveSealed>(json.as_bytes());
            self.sealed.extend(sealed.map(|sealed| sealed.manifest_sha256));
        }
    }

    /// Returns `true` if the log records the removal that made the archive whose signed manifest has this digest.
    #[must_use]
    pub fn has_removal(&self, manifest: &Sha256Text) -> bool {
        self.of_removals.contains(manifest)
    }

    /// Returns `true` if the log records that content at this position was removed under the policy that the event at `policy` set.
    #[must_use]
    pub fn has_removed(&self, position: Position, policy: Position) -> bool {
        let mut begun = self.removed.iter().take_while(|((first, _), _)| *first <= position);
        begun.any(|((_, last), policies)| *last >= position && policies.contains(&policy))
    }

    /// Returns `true` if the log seals the archive whose signed manifest has this digest.
    #[must_use]
    pub fn has_seal(&self, manifest: &Sha256Text) -> bool {
        self.sealed.contains(manifest)
    }
}

#[cfg(test)]
mod tests {
    use bitacora_formats::{ChainHash, Micros, Position, TreeHash};

    use super::*;
    use crate::receipt::Head;

    #[test]
    fn each_event_is_read_once() {
        let mut recorded = RecordedArchives::default();
        let mut asked = Vec::new();
        // Two pages first, then nothing new, then a page behind them.
        let answers = [(Some(40), 90), (None, 90), (None, 90), (None, 120)];
        let mut answers = answers.into_iter();
        for _ in 0..3 {
            let read = |query: &ReadQuery| {
                asked.push(query.from);
                let (next, head) = answers.next().unwrap();
                Ok(page(next, head))
            };
            recorded.read_on(read).unwrap();
        }
        assert_eq!(asked, [0, 40, 90, 90].map(|after| ReadFrom::After(After::new(after))));
        assert_eq!(recorded.read, 120);
    }

    fn page(next: Option<u64>, head: u64) -> EventPage {
        let (hash, tree_root) = (ChainHash([0; 32]), TreeHash([0; 32]));
        let head = Head { position: Position::new(head).unwrap(), hash, time: Micros(0), tree_root };
        EventPage { events: Vec::new(), next: next.map(|next| ReadFrom::After(After::new(next))), head }
    }
}
