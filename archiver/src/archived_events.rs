//! Single events of archives: their groups are opened side by side, and nothing else is made of those.

use bitacora_formats::Position;
use bitacora_ledger::{ArchiveTierError, ArchivedEvent};

use crate::archives::{GroupLocation, LedgerArchives};
use crate::limits::GROUP_OPENERS;
use crate::ordered_pool::in_order;
use crate::throttle::ArchivePace;

/// Events of one group that follow one another in what was asked for.
struct GroupRows {
    place: GroupLocation,
    /// In the order asked for, each with its row.
    rows: Vec<(Position, usize)>,
}

impl LedgerArchives {
    /// The events at these positions, in their order, as many as come before `max_bytes` of them are there. An error only where
    /// there is none before it.
    pub(crate) fn chosen_events(
        &self,
        positions: &[Position],
        max_bytes: usize,
    ) -> Result<Vec<ArchivedEvent>, ArchiveTierError> {
        let (wanted, error) = self.places_of(positions);
        let mut events = Vec::new();
        let mut bytes = 0;
        let mut take = |found: Result<Vec<ArchivedEvent>, ArchiveTierError>| {
            for event in found? {
                bytes += event.bytes();
                events.push(event);
            }
            Ok(bytes < max_bytes)
        };
        let taken = if wanted.len() > 1 {
            let feed = |feed: &mut crate::ordered_pool::Feed<GroupRows>| {
                wanted.into_iter().all(|wanted| feed.put(wanted));
            };
            let work = |wanted| self.events_of(wanted);
            let ((), taken) = in_order(ArchivePace::Full { threads: GROUP_OPENERS }, feed, work, |found| {
                found.map(&mut take).find(|more| !matches!(more, Ok(true)))
            });
            taken
        } else {
            wanted.into_iter().next().map(|wanted| take(self.events_of(wanted)))
        };
        match (taken, error) {
            (Some(Err(error)), _) | (None, Some(error)) if events.is_empty() => Err(error),
            _ => Ok(events),
        }
    }

    /// Returns the groups that hold the positions, up to the first that cannot be had.
    fn places_of(&self, positions: &[Position]) -> (Vec<GroupRows>, Option<ArchiveTierError>) {
        let mut all: Vec<GroupRows> = Vec::new();
        for position in positions {
            if let Some(last) = all.last_mut()
                && let Some(row) = last.place.row_of(*position)
            {
                last.rows.push((*position, row));
                continue;
            }
            match self.place_of(*position) {
                Err(error) => return (all, Some(error)),
                Ok(place) => {
                    let row = place.row_of(*position).unwrap_or_default();
                    all.push(GroupRows { place, rows: vec![(*position, row)] });
                }
            }
        }
        (all, None)
    }

    fn events_of(&self, wanted: GroupRows) -> Result<Vec<ArchivedEvent>, ArchiveTierError> {
        let mut indices: Vec<usize> = wanted.rows.iter().map(|(_, row)| *row).collect();
        indices.sort_unstable();
        indices.dedup();
        let rows = self.load(wanted.place)?.rows(indices.iter().copied())?;
        let event = |(position, index): &(Position, usize)| {
            let row = rows.row(indices.binary_search(index).ok()?)?;
            Some(ArchivedEvent {
                position: *position,
                time: row.time,
                stream_version: row.stream_version,
                derived: row.derived,
                record: row.record.to_vec(),
                part: row.part.map(<[u8]>::to_vec),
            })
        };
        Ok(wanted.rows.iter().filter_map(event).collect())
    }
}
