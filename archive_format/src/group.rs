//! Groups of events: collected one by one, sealed each for itself, and opened again.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use super::error::ArchiveError;
use super::header::ARCHIVE_HEADER_BYTES;
use super::key::{ArchiveKey, SEALED_OVERHEAD_BYTES, open_part};
use super::table::{PartEntry, PartKind};
use super::term::{ArchiveTerm, ArchiveTerms};
use crate::{ColumnGroup, ColumnRow, MAX_GROUP_BYTES, MAX_GROUP_ROWS, Rows, encode_columns};
use bitacora_formats::limits::{MAX_PART_BYTES, MAX_RECORD_BYTES};
use bitacora_formats::{Codec, Decompressor, decode_record};
use bitacora_formats::{Micros, Position, StreamVersion};

/// Bytes of records and parts past which a group ends, unless one event alone has more.
const GROUP_TARGET_BYTES: usize = MAX_GROUP_BYTES - MAX_RECORD_BYTES - MAX_PART_BYTES;

/// Events of one group, which own their bytes.
#[derive(Debug)]
pub struct EventGroup {
    number: u32,
    first: Position,
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
}

#[derive(Debug, Clone)]
struct RowSpan {
    time: Micros,
    begins_frame: bool,
    begins_request: bool,
    derived: bool,
    stream_version: StreamVersion,
    record: Range<usize>,
    part: Option<Range<usize>>,
}

impl EventGroup {
    /// The position of the first event.
    #[must_use]
    pub fn first(&self) -> Position {
        self.first
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns `true` if there is no event; a collector gives no such group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The events, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = ColumnRow<'_>> {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        self.spans.iter().map(move |span| ColumnRow {
            time: span.time,
            begins_frame: span.begins_frame,
            begins_request: span.begins_request,
            derived: span.derived,
            stream_version: span.stream_version,
            record: bytes(&span.record),
            part: span.part.as_ref().map(bytes),
        })
    }

    fn push(&mut self, row: ColumnRow<'_>) {
        let mut keep = |bytes: &[u8]| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(bytes);
            start..self.bytes.len()
        };
        let (record, part) = (keep(row.record), row.part.map(&mut keep));
        self.spans.push(RowSpan {
            time: row.time,
            begins_frame: row.begins_frame,
            begins_request: row.begins_request,
            derived: row.derived,
            stream_version: row.stream_version,
            record,
            part,
        });
    }
}

/// Makes groups of events that come one by one, in order. Holds one group at a time.
#[derive(Debug)]
pub struct GroupCollector {
    group: EventGroup,
}

impl GroupCollector {
    /// For events from this position on.
    #[must_use]
    pub fn new(first: Position) -> Self {
        Self { group: EventGroup { number: 0, first, bytes: Vec::new(), spans: Vec::new() } }
    }

    /// Takes the next event; gives the group before it, if that one is full.
    pub fn push(&mut self, row: ColumnRow<'_>) -> Option<EventGroup> {
        let added = row.record.len() + row.part.map_or(0, <[u8]>::len);
        let is_full = self.group.len() >= MAX_GROUP_ROWS
            || !self.group.is_empty() && self.group.bytes.len() + added > GROUP_TARGET_BYTES;
        let full = if is_full { self.take() } else { None };
        self.group.push(row);
        full
    }

    /// Returns the events collected since the last group, if there are any.
    pub fn take(&mut self) -> Option<EventGroup> {
        if self.group.is_empty() {
            return None;
        }
        // A position past all others is never pushed to: an archive ends before it.
        let first = self.group.first.plus(self.group.len() as u64).unwrap_or(self.group.first);
        let number = self.group.number + 1;
        let next = EventGroup { number, first, bytes: Vec::new(), spans: Vec::new() };
        Some(mem::replace(&mut self.group, next))
    }
}

/// A group as it is stored, with its part of the archive's index and manifest.
pub struct SealedGroup {
    pub(super) entry: PartEntry,
    pub(super) stored: Vec<u8>,
    pub(super) summary: GroupSummary,
}

/// The part of the index and of the manifest that one group contributes.
#[derive(Debug)]
pub(super) struct GroupSummary {
    pub(super) terms: Vec<ArchiveTerm>,
    pub(super) kinds: BTreeMap<String, u64>,
    pub(super) times: (Micros, Micros),
    pub(super) bytes: u64,
    pub(super) expired: u64,
}

/// Encodes and seals a group. A function of its inputs alone, so that groups can be sealed side by side.
///
/// # Errors
/// [`ArchiveError::Record`] for an event that is none, [`ArchiveError::Columns`].
pub fn seal_group(key: &ArchiveKey, group: &EventGroup, level: i32) -> Result<SealedGroup, ArchiveError> {
    let rows: Vec<ColumnRow<'_>> = group.rows().collect();
    let summary = GroupSummary::of(key.terms(), group.first, rows.iter().copied())?;
    let columns = |source| ArchiveError::Columns { first: group.first, source };
    let plain = encode_columns(&rows, level).map_err(columns)?;
    let number = group.number;
    let entry = PartEntry {
        number,
        kind: PartKind::Events,
        codec: Codec::Stored,
        count: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        position: group.first.get(),
        offset: ARCHIVE_HEADER_BYTES as u64,
        stored_bytes: 0,
        plain_bytes: 0,
        digest: [0; 32],
    };
    let (entry, stored) = seal_contents(key, entry, &plain, plain.len())?;
    Ok(SealedGroup { entry, stored, summary })
}

/// Seals compressed contents, and fills in the entry but for its offset, which the caller sets.
pub(super) fn seal_contents(
    key: &ArchiveKey,
    entry: PartEntry,
    packed: &[u8],
    plain_bytes: usize,
) -> Result<(PartEntry, Vec<u8>), ArchiveError> {
    let too_large = ArchiveError::TooLarge { what: "a part" };
    let stored_bytes = u32::try_from(packed.len() + SEALED_OVERHEAD_BYTES);
    let plain_bytes = u32::try_from(plain_bytes);
    let (Ok(stored_bytes), Ok(plain_bytes)) = (stored_bytes, plain_bytes) else { return Err(too_large) };
    let entry = PartEntry { stored_bytes, plain_bytes, ..entry };
    entry.check_sizes().map_err(|_| too_large)?;
    let stored = key.seal(&entry, packed)?;
    let digest = *blake3::hash(&stored).as_bytes();
    Ok((PartEntry { digest, ..entry }, stored))
}

/// Opens a group of events: all of them.
///
/// # Errors
/// As [`open_columns`].
pub fn open_group(
    key: &ArchiveKey,
    entry: &PartEntry,
    stored: &[u8],
    decompressor: &mut Decompressor,
) -> Result<Rows, ArchiveError> {
    let group = open_columns(key, entry, stored, decompressor)?;
    let first = Position::new(entry.position).unwrap_or(Position::FIRST);
    group.rows(0..group.len()).map_err(|source| ArchiveError::Columns { first, source })
}

/// Opens a group of events, of which any can be made without the others.
///
/// # Errors
/// As [`open_part`], and [`ArchiveError::Columns`].
pub fn open_columns(
    key: &ArchiveKey,
    entry: &PartEntry,
    stored: &[u8],
    decompressor: &mut Decompressor,
) -> Result<ColumnGroup, ArchiveError> {
    let first = Position::new(entry.position).filter(|_| entry.kind == PartKind::Events);
    let no_events = ArchiveError::Part { number: entry.number, problem: "it holds no events" };
    let first = first.ok_or(no_events)?;
    let plain = open_part(key, entry, stored, decompressor)?;
    let group = ColumnGroup::open(&plain).map_err(|source| ArchiveError::Columns { first, source })?;
    if group.len() == entry.count as usize {
        Ok(group)
    } else {
        let (expected, found) = (entry.count.into(), group.len() as u64);
        Err(ArchiveError::Disagrees { field: "events of a group", expected, found })
    }
}

impl GroupSummary {
    /// Summarises the rows from this position on.
    pub(super) fn of<'a>(
        terms: &ArchiveTerms,
        first: Position,
        rows: impl Iterator<Item = ColumnRow<'a>>,
    ) -> Result<Self, ArchiveError> {
        let mut summary = Self {
            terms: Vec::new(),
            kinds: BTreeMap::new(),
            times: (Micros(0), Micros(0)),
            bytes: 0,
            expired: 0,
        };
        for (index, row) in (0..).zip(rows) {
            let position = first.plus(index).unwrap_or(first);
            let record =
                decode_record(row.record).map_err(|source| ArchiveError::Record { position, source })?;
            terms.of_record(&record, |term| summary.terms.push(term));
            summary.expired += u64::from(record.expired().is_some());
            match summary.kinds.get_mut(record.kind.as_ref()) {
                Some(count) => *count += 1,
                None => drop(summary.kinds.insert(record.kind.into_owned(), 1)),
            }
            summary.bytes += (row.record.len() + row.part.map_or(0, <[u8]>::len)) as u64;
            if index == 0 {
                summary.times.0 = row.time;
            }
            summary.times.1 = row.time;
        }
        summary.terms.sort_unstable();
        summary.terms.dedup();
        Ok(summary)
    }
}
