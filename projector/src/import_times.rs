//! The times of recorded things: the ledger's own for things that happened here.
//! Things recorded elsewhere state their times, which are believed once their import is accepted. Until then they count as of their
//! recording.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bitacora_api::OutsideAnswer;
use bitacora_formats::parse_time;
use bitacora_vocabulary::{EventData as _, ImportAccepted, ImportBatch};
use serde::{Deserialize, Serialize};

use crate::models::{FoldError, FoldEvent, ModelError, Rows, View};

/// The types of events that a model folds to know of imports.
pub(crate) const IMPORT_KINDS: [&str; 2] = [ImportBatch::KIND, ImportAccepted::KIND];

/// Says of something that an import brought it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportOrigin {
    /// The number of the import, as the model counts them.
    pub import: u64,
    /// The time that it states for itself, microseconds since 1970; never later than it was recorded.
    pub own_time: u64,
}

/// The tables of a model that tell of imports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImportTables {
    /// The number of the import that is under way.
    pub(crate) under_way: u8,
    /// Imports, by their numbers.
    pub(crate) imports: u8,
    /// The numbers of those that ended, by digest.
    pub(crate) numbers: u8,
}

/// An import, as far as times go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KnownImport {
    is_accepted: bool,
    span: Option<Span>,
}

/// The span of an import: the positions of what it brought, and the times that this states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    first: u64,
    last: u64,
    earliest: u64,
    latest: u64,
}

/// The imports that a model knows of, by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownImports(BTreeMap<u64, KnownImport>);

/// A time that is asked about: when things happened. The positions are those of what was recorded in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HappenedBetween {
    /// From this time on, microseconds since 1970.
    pub since: u64,
    /// Before this time.
    pub before: u64,
    /// The positions recorded in that time.
    pub recorded: RangeInclusive<u64>,
}

impl HappenedBetween {
    pub(crate) fn contains(&self, time: u64) -> bool {
        (self.since..self.before).contains(&time)
    }
}

/// The entries of a list outside of the time asked about, where nothing lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside {
    /// So many agree with all else that was asked.
    pub count: u64,
    /// `true`: not all were looked at, and there may be more.
    pub is_more: bool,
}

impl From<Outside> for OutsideAnswer {
    fn from(outside: Outside) -> Self {
        Self { count: outside.count, more: outside.is_more }
    }
}

impl FoldEvent<'_> {
    /// The time that the event tells of itself, unless that is later than its recording.
    fn own_time(&self) -> Option<u64> {
        let own = self.record.time.as_deref().and_then(|time| parse_time(time).ok());
        own.filter(|own| *own <= self.time).map(|own| own.0)
    }
}

impl ImportTables {
    /// Says of an event that was recorded elsewhere which import brings it.
    pub(crate) fn brought(
        &self,
        event: &FoldEvent<'_>,
        rows: &mut Rows<'_>,
    ) -> Result<Option<ImportOrigin>, FoldError> {
        let Some(own_time) = event.own_time() else { return Ok(None) };
        Ok(Some(ImportOrigin { import: self.under_way(rows)?, own_time }))
    }

    /// Notes where something stands that an import brought, so that it is found by its own time.
    pub(crate) fn note(
        &self,
        rows: &mut Rows<'_>,
        position: u64,
        brought: ImportOrigin,
    ) -> Result<(), FoldError> {
        let ImportOrigin { import, own_time } = brought;
        let key = rows.key(self.imports, &[]).at(import);
        let mut known = rows.row::<KnownImport>(&key)?.unwrap_or_default();
        let span = Span { first: position, last: position, earliest: own_time, latest: own_time };
        let wider = known.span.map_or(span, |known| known.with(span));
        if known.span.replace(wider) != Some(wider) {
            rows.put(&key, &known)?;
        }
        Ok(())
    }

    /// Takes in an event of [`IMPORT_KINDS`].
    pub(crate) fn fold(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        if &*event.record.kind == ImportBatch::KIND {
            self.ended(event, rows)
        } else {
            self.accepted(event, rows)
        }
    }

    fn under_way(&self, rows: &mut Rows<'_>) -> Result<u64, FoldError> {
        Ok(rows.row::<u64>(&rows.key(self.under_way, &[]))?.unwrap_or_default())
    }

    /// As the state that decides has it: what the same import brings again is the next one's.
    fn ended(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let Some(payload) = event.data::<ImportBatch>()? else { return Ok(()) };
        let of_digest = rows.key(self.numbers, &[payload.digest.as_str()]);
        if rows.row::<u64>(&of_digest)?.is_some() {
            return Ok(());
        }
        let number = self.under_way(rows)?;
        rows.put(&of_digest, &number)?;
        Ok(rows.put(&rows.key(self.under_way, &[]), &(number + 1))?)
    }

    fn accepted(&self, event: &FoldEvent<'_>, rows: &mut Rows<'_>) -> Result<(), FoldError> {
        let Some(payload) = event.data::<ImportAccepted>()? else { return Ok(()) };
        let Some(number) = rows.row::<u64>(&rows.key(self.numbers, &[payload.digest.as_str()]))? else {
            return Ok(());
        };
        let key = rows.key(self.imports, &[]).at(number);
        let known = rows.row::<KnownImport>(&key)?.unwrap_or_default();
        Ok(rows.put(&key, &KnownImport { is_accepted: true, ..known })?)
    }

    /// The imports that are known at a moment of the model.
    pub(crate) fn read(&self, view: &View) -> Result<KnownImports, ModelError> {
        let known = view.rows(view.key(self.imports, &[]), 0..=u64::MAX);
        Ok(KnownImports(known.collect::<Result<_, _>>()?))
    }
}

impl Span {
    fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }
}

impl KnownImports {
    /// Those that brought anything, or are accepted, each with whether it is accepted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, bool)> {
        self.0.iter().map(|(number, known)| (*number, known.is_accepted))
    }

    fn is_accepted(&self, import: u64) -> bool {
        self.0.get(&import).is_some_and(|known| known.is_accepted)
    }

    /// Returns the time at which something happened that was recorded at this time.
    pub(crate) fn happened(&self, recorded: u64, brought: Option<&ImportOrigin>) -> u64 {
        let accepted = brought.filter(|brought| self.is_accepted(brought.import));
        accepted.map_or(recorded, |brought| brought.own_time)
    }

    /// Ranges of positions, the last first, that hold everything that happened in a time and stands in `positions`, and other things
    /// too: what was recorded then, and the accepted imports that tell of something in it.
    pub(crate) fn ranges(
        &self,
        between: Option<&HappenedBetween>,
        positions: &RangeInclusive<u64>,
    ) -> Vec<RangeInclusive<u64>> {
        let Some(between) = between else { return vec![positions.clone()] };
        let tells = |span: &&Span| span.earliest < between.before && between.since <= span.latest;
        let accepted =
            self.0.values().filter(|known| known.is_accepted).filter_map(|known| known.span.as_ref());
        let imports = accepted.filter(tells).map(|span| span.first..=span.last);
        let all = imports
            .chain([between.recorded.clone()])
            .map(|range| *range.start().max(positions.start())..=*range.end().min(positions.end()));
        let mut all: Vec<_> = all.filter(|range| !range.is_empty()).collect();
        all.sort_by_key(|range| *range.start());
        let mut joined: Vec<RangeInclusive<u64>> = Vec::with_capacity(all.len());
        for range in all {
            match joined.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*range.end().max(last.end());
                }
                _ => joined.push(range),
            }
        }
        joined.reverse();
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_was_recorded_then_and_what_imports_tell_of_it_once() {
        let known = |first, last, earliest, latest, is_accepted| KnownImport {
            is_accepted,
            span: Some(Span { first, last, earliest, latest }),
        };
        let imports = [(0, known(10, 20, 100, 200, true)), (1, known(30, 40, 500, 600, true))];
        let others =
            [(2, known(60, 70, 100, 600, false)), (3, KnownImport { is_accepted: true, span: None })];
        let imports = KnownImports(imports.into_iter().chain(others).collect());
        let ranges = |since, before, recorded: RangeInclusive<u64>, positions: RangeInclusive<u64>| {
            imports.ranges(Some(&HappenedBetween { since, before, recorded }), &positions)
        };
        assert_eq!(ranges(150, 300, 25..=28, 1..=99), [25..=28, 10..=20]);
        assert_eq!(ranges(150, 501, 18..=29, 1..=99), [10..=40]);
        assert_eq!(ranges(150, 501, 18..=29, 15..=35), [15..=35]);
        assert_eq!(ranges(200, 300, 50..=60, 1..=99), [50..=60, 10..=20]);
        #[expect(clippy::reversed_empty_ranges, reason = "nothing was recorded then")]
        let nothing = 1..=0;
        assert_eq!(ranges(201, 500, nothing.clone(), 1..=99), Vec::new());
        assert_eq!(imports.ranges(None, &(1..=99)), [1..=99]);
        let own = ImportOrigin { import: 1, own_time: 7 };
        assert_eq!((imports.happened(9, Some(&own)), imports.happened(9, None)), (7, 9));
        assert_eq!(imports.happened(9, Some(&ImportOrigin { import: 2, own_time: 7 })), 9);
    }
}
