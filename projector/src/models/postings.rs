//! Posting lists: positions by what is found at them, many in a row, so that common labels stay cheap.
//!
//! A row has those of [`POSITIONS`] positions in a row, as offsets from the first, two bytes each, little-endian, ascending.

use std::ops::RangeInclusive;

use super::row_key::RowKey;
use super::rows::Rows;
use super::status::ModelError;
use super::store::RowIntegrityError;
use super::view::View;

/// Positions that one row covers.
const POSITIONS: u64 = 1 << 10;
/// Bytes of an offset.
const OFFSET_BYTES: usize = 2;

fn row_and_offset(group: RowKey, position: u64) -> (RowKey, [u8; OFFSET_BYTES]) {
    let offset = u16::try_from(position % POSITIONS).unwrap_or(u16::MAX);
    (group.at(position / POSITIONS), offset.to_le_bytes())
}

/// Returns the place of an offset among others, or the place it would have.
fn place(offsets: &[u8], offset: [u8; OFFSET_BYTES]) -> Result<usize, usize> {
    let (offsets, _) = offsets.as_chunks::<OFFSET_BYTES>();
    // Positions mostly come in their order.
    match offsets.last() {
        Some(last) if u16::from_le_bytes(*last) < u16::from_le_bytes(offset) => Err(offsets.len()),
        None => Err(0),
        Some(_) => {
            offsets.binary_search_by_key(&u16::from_le_bytes(offset), |bytes| u16::from_le_bytes(*bytes))
        }
    }
}

impl Rows<'_> {
    /// Adds a position to a group's.
    pub(crate) fn post(&mut self, group: RowKey, position: u64) -> Result<(), RowIntegrityError> {
        let (key, offset) = row_and_offset(group, position);
        self.change_content(&key, |content| {
            let offsets = content.get_or_insert_default();
            if let Err(at) = place(offsets, offset) {
                offsets.splice(at * OFFSET_BYTES..at * OFFSET_BYTES, offset);
            }
        })
    }

    /// Takes a position from a group's.
    pub(crate) fn unpost(&mut self, group: RowKey, position: u64) -> Result<(), RowIntegrityError> {
        let (key, offset) = row_and_offset(group, position);
        self.change_content(&key, |content| {
            let Some(offsets) = content else { return };
            if let Ok(at) = place(offsets, offset) {
                offsets.drain(at * OFFSET_BYTES..(at + 1) * OFFSET_BYTES);
            }
            if offsets.is_empty() {
                *content = None;
            }
        })
    }
}

impl View {
    /// The positions of a group that lie in a range, the last first.
    pub(crate) fn posted(
        &self,
        group: RowKey,
        range: RangeInclusive<u64>,
    ) -> impl Iterator<Item = Result<u64, ModelError>> {
        let rows = self.contents(group.at(range.start() / POSITIONS), group.at(range.end() / POSITIONS));
        let positions = rows.rev().flat_map(|row| {
            let (row, failed) = match row {
                Ok(row) => (Some(row), None),
                Err(error) => (None, Some(Err(error))),
            };
            let positions = row.into_iter().flat_map(|(key, offsets)| {
                let first = key.last_number().saturating_mul(POSITIONS);
                let (offsets, _) = offsets.as_chunks::<OFFSET_BYTES>();
                let offsets: Vec<_> = offsets.iter().rev().map(|bytes| u16::from_le_bytes(*bytes)).collect();
                offsets.into_iter().map(move |offset| Ok(first.saturating_add(offset.into())))
            });
            failed.into_iter().chain(positions)
        });
        positions.filter(move |position| position.as_ref().map_or(true, |position| range.contains(position)))
    }
}
