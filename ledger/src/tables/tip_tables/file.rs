//! One tip table in a file. Layout: `docs/formats/tip_table.md`.

use std::io;
use std::path::Path;

use bitacora_formats::{
    MAX_TIP_TABLE_HEADER_BYTES, Secret, SegmentNumber, StreamKey, TIP_CHUNK_ENTRIES, TipChunks, TipEntry,
    TipTableError, TipTableHeader,
};

use super::EndedState;
use crate::host::disk::{Disk, DiskFile, OpenMode};
use crate::host::index_folder::{UNFINISHED, make_folder};
use crate::host::key_map::KeyMap;
use crate::host::replacement::replace;
use crate::limits::{FILL_SLICE_BYTES, MAX_STREAMS};
use crate::stream_tips::Tip;

/// Writes the table of these streams.
///
/// Returned `Ok` ⇒ durable under its name; else as [`replace`] says.
///
/// Syscalls: those of [`replace`], with `pwrite64` and `fdatasync` until all is written.
pub(super) fn write(
    disk: &dyn Disk,
    folder: &Path,
    index_key: &Secret,
    header: TipTableHeader,
    tips: &KeyMap<StreamKey, Tip>,
) -> io::Result<()> {
    make_folder(disk, folder)?;
    let mut entries: Vec<_> = tips
        .iter()
        .map(|(stream, tip)| TipEntry { stream: *stream, version: tip.version, position: tip.position })
        .collect();
    entries.sort_unstable_by_key(|entry| entry.stream);
    let name = file_name(header.first, header.end.number);
    replace(disk, folder, &name, UNFINISHED, |file| fill(file, index_key, header, &entries))
}

fn fill(
    file: &dyn DiskFile,
    index_key: &Secret,
    header: TipTableHeader,
    entries: &[TipEntry],
) -> io::Result<()> {
    let chunks = TipChunks::new(index_key.clone(), header);
    let mut gathered = chunks.header().encode();
    let mut offset = 0;
    for chunk in 0..chunks.header().chunks() {
        let from = usize::try_from(chunk).unwrap_or(usize::MAX).saturating_mul(TIP_CHUNK_ENTRIES);
        let part = entries.get(from..entries.len().min(from + TIP_CHUNK_ENTRIES)).unwrap_or_default();
        gathered.extend(chunks.seal(chunk, part).map_err(invalid)?);
        if gathered.len() >= FILL_SLICE_BYTES {
            file.write_all_at(&gathered, offset)?;
            file.sync_data()?;
            offset += gathered.len() as u64;
            gathered.clear();
        }
    }
    file.write_all_at(&gathered, offset)
}

/// The header of the table at `path`, which is not authentic yet, and fits the file's length.
pub(super) fn read_header(disk: &dyn Disk, path: &Path) -> io::Result<TipTableHeader> {
    let file = disk.open(path, OpenMode::Read)?;
    let found = file.len()?;
    let length = usize::try_from(found).unwrap_or(usize::MAX).min(MAX_TIP_TABLE_HEADER_BYTES);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    let header = TipTableHeader::parse(&bytes).map_err(invalid)?;
    let expected = header.table_bytes();
    if found != expected {
        return Err(invalid(TipTableError::Length { expected, found }));
    }
    if header.entries > MAX_STREAMS as u64 {
        return Err(invalid(TipTableError::Impossible));
    }
    Ok(header)
}

/// Returns `Some(true)` where the table of this name was sealed under this key; `None` where it is no table, has no entries, or cannot be
/// read.
pub(crate) fn opens(disk: &dyn Disk, path: &Path, name: &str, index_key: &Secret) -> Option<bool> {
    segments_of(name)?;
    let header = read_header(disk, path).ok().filter(|header| header.chunks() > 0)?;
    let mut bytes = vec![0; header.chunk_bytes(0)];
    let file = disk.open(path, OpenMode::Read).ok()?;
    file.read_exact_at(&mut bytes, header.stored_bytes() as u64).ok()?;
    Some(TipChunks::new(index_key.clone(), header).open(0, &bytes).is_ok())
}

/// All of a table, every chunk authenticated.
pub(super) fn read_into(disk: &dyn Disk, path: &Path, index_key: &Secret) -> io::Result<EndedState> {
    let header = read_header(disk, path)?;
    let file = disk.open(path, OpenMode::Read)?;
    let mut offset = header.stored_bytes() as u64;
    let chunks = TipChunks::new(index_key.clone(), header);
    let header = chunks.header();
    let mut tips = KeyMap::default();
    tips.reserve(usize::try_from(header.entries).unwrap_or(0).min(MAX_STREAMS));
    for chunk in 0..header.chunks() {
        let mut bytes = vec![0; header.chunk_bytes(chunk)];
        file.read_exact_at(&mut bytes, offset)?;
        offset += bytes.len() as u64;
        for entry in chunks.open(chunk, &bytes).map_err(invalid)? {
            tips.insert(entry.stream, Tip { version: entry.version, position: entry.position });
        }
    }
    if tips.len() as u64 != header.entries {
        return Err(invalid(TipTableError::Impossible));
    }
    Ok(EndedState { first: header.first, end: header.end, frontier: header.frontier.clone(), tips })
}

fn invalid(error: TipTableError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The name of the table of these segments.
pub(super) fn file_name(first: SegmentNumber, last: SegmentNumber) -> String {
    format!("tips-{:010}-{:010}.tbl", first.0, last.0)
}

/// The segments of the table with this name.
pub(super) fn segments_of(name: &str) -> Option<(SegmentNumber, SegmentNumber)> {
    let (first, last) = name.strip_prefix("tips-")?.strip_suffix(".tbl")?.split_once('-')?;
    let (first, last) = (SegmentNumber(first.parse().ok()?), SegmentNumber(last.parse().ok()?));
    (file_name(first, last) == name).then_some((first, last))
}

/// Returns `true` for the name of a table that was not finished.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED).and_then(segments_of).is_some()
}
