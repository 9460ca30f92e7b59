//! A table of identities in a file: of some ended segments, sealed, and made anew on any doubt.
//! Layout: `docs/formats/id_table.md`.
//!
//! In memory are the filter and the first key of each block, about 13 bits for each identity; the entries stay on the
//! disk. A lookup that the filter does not end costs one read of 4 KiB.

mod merge;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{
    EventKey, ID_BLOCK_BYTES, IdBlocks, IdEntry, IdFilter, IdTableBinding, IdTableCheck, IdTableError,
    IdTableHeader, Secret, SegmentNumber,
};

use self::merge::TableMerge;
use crate::dedup::segment_ids::KnownIdentity;
use crate::host::background_pace::{BackgroundPace, SliceRest};
use crate::host::disk::{Disk, DiskFile, OpenMode};
use crate::host::index_folder::UNFINISHED;

/// Blocks that are read at once where a whole table is read.
const READ_BLOCKS: usize = 32;

/// The reasons for which a table cannot be used: the segments it should cover have to be read again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnusableIdTable {
    /// It cannot be read.
    #[error("{0}; the identities are read from the log again")]
    Disk(#[from] io::Error),
    /// It is not the table it should be.
    #[error("{0}; the identities are read from the log again")]
    Table(#[from] IdTableError),
}

/// A table that was whole when it was loaded.
pub(crate) struct IdTable {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    blocks: IdBlocks,
    filter: IdFilter,
    /// The first key of each block.
    fence: Vec<EventKey>,
}

impl fmt::Debug for IdTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdTable")
            .field("path", &self.path)
            .field("header", self.blocks.header())
            .finish_non_exhaustive()
    }
}

impl IdTable {
    /// Writes the table of these identities, which are all of the segments it is bound to, and loads it.
    ///
    /// Returned `Ok` ⇒ durable. A crash before leaves the table or none, and perhaps an unfinished file.
    pub(crate) fn build(
        disk: &dyn Disk,
        folder: &Path,
        index_key: &Secret,
        binding: IdTableBinding,
        mut entries: Vec<IdEntry>,
        pace: &BackgroundPace,
    ) -> io::Result<Self> {
        entries.sort_unstable_by_key(|entry| entry.key);
        let header = IdTableHeader { binding, entries: entries.len() as u64 };
        let rest = || {
            pace.rest();
            Ok(())
        };
        writer::write(disk, folder, index_key, header, entries.into_iter().map(Ok), &rest)?;
        Self::load_written(disk, folder, index_key, binding)
    }

    /// Writes one table with the identities of several, whose segments follow one another, and loads it. It takes
    /// memory for the new filter and a block of each table.
    ///
    /// Returned `Ok` ⇒ durable, and the others are needed no more. A crash before leaves them as they are.
    pub(crate) fn merge(
        disk: &dyn Disk,
        folder: &Path,
        index_key: &Secret,
        tables: &[Arc<Self>],
        rest: SliceRest<'_>,
    ) -> io::Result<Self> {
        let (Some(first), Some(last)) = (tables.first(), tables.last()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no id tables to merge"));
        };
        let binding = IdTableBinding { first: first.binding().first, ..*last.binding() };
        let header = IdTableHeader { binding, entries: tables.iter().map(|table| table.entries()).sum() };
        writer::write(disk, folder, index_key, header, TableMerge::of(tables)?, rest)?;
        Self::load_written(disk, folder, index_key, binding)
    }

    /// Only what was read back is used.
    fn load_written(
        disk: &dyn Disk,
        folder: &Path,
        index_key: &Secret,
        binding: IdTableBinding,
    ) -> io::Result<Self> {
        Self::load(disk, folder, index_key, binding).map_err(|doubt| match doubt {
            UnusableIdTable::Disk(error) => error,
            UnusableIdTable::Table(error) => io::Error::new(io::ErrorKind::InvalidData, error),
        })
    }

    /// Opens the table that is bound so, reading and authenticating all of it.
    pub(crate) fn load(
        disk: &dyn Disk,
        folder: &Path,
        index_key: &Secret,
        binding: IdTableBinding,
    ) -> Result<Self, UnusableIdTable> {
        let path = folder.join(file_name(binding.first, binding.last));
        let file = disk.open(&path, OpenMode::Read)?;
        let found = file.len()?;
        let mut first_block = [0; ID_BLOCK_BYTES];
        if found < ID_BLOCK_BYTES as u64 {
            return Err(IdTableError::Length { expected: ID_BLOCK_BYTES as u64, found }.into());
        }
        file.read_exact_at(&mut first_block, 0)?;
        let header = IdTableHeader::parse(&first_block)?;
        if header.binding != binding {
            return Err(IdTableError::Binding.into());
        }
        // Before anything is allocated by its numbers: there are as many bytes as they say.
        let expected = header.table_bytes();
        if found != expected {
            return Err(IdTableError::Length { expected, found }.into());
        }
        let mut check = IdTableCheck::new(index_key);
        check.update(&first_block);
        let fence = read_fence(&*file, &header, &mut check)?;
        let mut filter = IdFilter::for_identities(header.entries);
        let filter_offset = IdTableHeader::block_offset(header.blocks());
        file.read_exact_at(filter.as_bytes_mut(), filter_offset)?;
        check.update(filter.as_bytes());
        let mut stored = [0; bitacora_formats::ID_TABLE_CHECK_BYTES];
        file.read_exact_at(&mut stored, filter_offset + header.filter_bytes())?;
        check.verify(&stored)?;
        Ok(Self { path, file, blocks: IdBlocks::new(index_key, header), filter, fence })
    }

    pub(crate) fn binding(&self) -> &IdTableBinding {
        &self.blocks.header().binding
    }

    pub(crate) fn entries(&self) -> u64 {
        self.blocks.header().entries
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn covers(&self, segment: SegmentNumber) -> bool {
        (self.binding().first..=self.binding().last).contains(&segment)
    }

    /// Looks up the identity's position; `None` if it is not in the table. A block that rotted since is an error, never a missing
    /// identity.
    ///
    /// Syscalls: `pread64` of 4 KiB, unless the filter says no.
    pub(crate) fn lookup(&self, key: &EventKey) -> io::Result<Option<KnownIdentity>> {
        if !self.filter.may_contain(key) {
            return Ok(None);
        }
        let Some(block) = self.fence.partition_point(|first| first <= key).checked_sub(1) else {
            return Ok(None);
        };
        let bytes = self.read_block(block as u64)?;
        let found = self.blocks.open(block as u64, &bytes).and_then(|block| block.find(key));
        let found = found.map_err(|error| self.damaged(error))?;
        Ok(found.map(|entry| KnownIdentity { position: entry.position, content: entry.content }))
    }

    /// The entries of a block, in order; none past the last block.
    fn block_entries(&self, block: u64) -> io::Result<Vec<IdEntry>> {
        if block >= self.blocks.header().blocks() {
            return Ok(Vec::new());
        }
        let bytes = self.read_block(block)?;
        let opened = self.blocks.open(block, &bytes).map_err(|error| self.damaged(error))?;
        opened.entries().collect::<Result<_, _>>().map_err(|error| self.damaged(error))
    }

    fn read_block(&self, block: u64) -> io::Result<[u8; ID_BLOCK_BYTES]> {
        let mut bytes = [0; ID_BLOCK_BYTES];
        self.file.read_exact_at(&mut bytes, IdTableHeader::block_offset(block))?;
        Ok(bytes)
    }

    fn damaged(&self, error: IdTableError) -> io::Error {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let what = format!("index/{name}: {error}; restart the service to have it made anew");
        io::Error::new(io::ErrorKind::InvalidData, what)
    }
}

/// Reads all blocks of entries into the check, and the first key of each.
fn read_fence(
    file: &dyn DiskFile,
    header: &IdTableHeader,
    check: &mut IdTableCheck,
) -> io::Result<Vec<EventKey>> {
    let mut fence = Vec::new();
    let mut buffer = vec![0; READ_BLOCKS * ID_BLOCK_BYTES];
    let mut next = 0;
    while next < header.blocks() {
        let count = usize::try_from(header.blocks() - next).unwrap_or(READ_BLOCKS).min(READ_BLOCKS);
        let bytes = buffer.get_mut(..count * ID_BLOCK_BYTES).unwrap_or_default();
        file.read_exact_at(bytes, IdTableHeader::block_offset(next))?;
        check.update(bytes);
        fence.extend(
            bytes
                .chunks_exact(ID_BLOCK_BYTES)
                .filter_map(|block| block.first_chunk())
                .map(|key| EventKey(*key)),
        );
        next += count as u64;
    }
    Ok(fence)
}

/// The name of the table of these segments.
pub(crate) fn file_name(first: SegmentNumber, last: SegmentNumber) -> String {
    format!("ids-{:010}-{:010}.tbl", first.0, last.0)
}

/// The segments of the table with this name.
pub(crate) fn segments_of(name: &str) -> Option<(SegmentNumber, SegmentNumber)> {
    let (first, last) = name.strip_prefix("ids-")?.strip_suffix(".tbl")?.split_once('-')?;
    let (first, last) = (SegmentNumber(first.parse().ok()?), SegmentNumber(last.parse().ok()?));
    (file_name(first, last) == name).then_some((first, last))
}

/// Returns `true` for the name of a table that was not finished.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED).and_then(segments_of).is_some()
}

/// Returns `Some(true)` where the table of this name was sealed under this key; `None` where it is no table, or cannot be read.
pub(crate) fn opens(disk: &dyn Disk, folder: &Path, name: &str, index_key: &Secret) -> Option<bool> {
    segments_of(name)?;
    let mut first_block = [0; ID_BLOCK_BYTES];
    let file = disk.open(&folder.join(name), OpenMode::Read).ok()?;
    file.read_exact_at(&mut first_block, 0).ok()?;
    let header = IdTableHeader::parse(&first_block).ok()?;
    match IdTable::load(disk, folder, index_key, header.binding) {
        Ok(_) => Some(true),
        Err(UnusableIdTable::Table(_)) => Some(false),
        Err(UnusableIdTable::Disk(_)) => None,
    }
}
