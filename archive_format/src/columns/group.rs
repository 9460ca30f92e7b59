//! A group as one blob: header, directory, blocks.

use zstd::bulk;

use super::blocks::{compress_behind, pack};
use super::gather::{GroupColumns, gather};
use super::limits::MAX_DIRECTORY_BYTES;
use super::writer::write_columns;
use super::{COLUMNS_FORMAT, COLUMNS_MAGIC, ColumnGroup, ColumnRow, ColumnsError};

/// Writes the rows as one blob. Rows whose columns would go past a limit are kept whole.
pub(super) fn encode(rows: &[ColumnRow<'_>], level: i32) -> Result<Vec<u8>, ColumnsError> {
    let blob = encode_gathered(rows.len(), gather(rows), level)?;
    // Only whoever has read it knows what that takes; it is a small part of what writing does.
    let is_too_much = |blob: &Vec<u8>| matches!(ColumnGroup::open(blob), Err(ColumnsError::TooMuchToHold));
    match blob.filter(|blob| !is_too_much(blob)) {
        Some(blob) => Ok(blob),
        None => {
            let found = rows.iter().map(ColumnRow::bytes).sum();
            let whole = encode_gathered(rows.len(), GroupColumns::whole(rows), level)?;
            whole.ok_or(ColumnsError::TooLarge { found })
        }
    }
}

/// The blob of a group that was taken apart; `None` where a reader would refuse it for its size.
fn encode_gathered(
    rows: usize,
    gathered: GroupColumns<'_>,
    level: i32,
) -> Result<Option<Vec<u8>>, ColumnsError> {
    let mut described = Vec::new();
    let Some(streams) = write_columns(gathered, &mut described)? else { return Ok(None) };
    let (mut directory, mut blocks) = (Vec::new(), Vec::new());
    pack(&streams, level, &mut directory, &mut blocks)?;
    directory.append(&mut described);
    if directory.len() > MAX_DIRECTORY_BYTES {
        return Ok(None);
    }
    let mut compressor = bulk::Compressor::new(level).map_err(|_| ColumnsError::Context)?;
    let mut stored = Vec::new();
    compress_behind(&mut compressor, &directory, &mut stored)?;
    let number =
        |number: usize| u32::try_from(number).map(u32::to_le_bytes).map_err(|_| ColumnsError::Context);
    let mut blob = COLUMNS_MAGIC.to_vec();
    blob.extend_from_slice(&COLUMNS_FORMAT.to_le_bytes());
    blob.extend_from_slice(&[0; 2]);
    blob.extend_from_slice(&number(rows)?);
    blob.extend_from_slice(&number(directory.len())?);
    blob.extend_from_slice(&number(stored.len())?);
    blob.append(&mut stored);
    blob.append(&mut blocks);
    Ok(Some(blob))
}
