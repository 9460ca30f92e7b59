//! Writing a table, block by block.

use std::io;
use std::path::Path;

use bitacora_formats::{
    ID_BLOCK_BYTES, ID_BLOCK_ENTRIES, IdBlocks, IdEntry, IdFilter, IdTableCheck, IdTableError, IdTableHeader,
    Secret,
};

use super::file_name;
use crate::host::background_pace::SliceRest;
use crate::host::disk::{Disk, DiskFile};
use crate::host::index_folder::{UNFINISHED, make_folder};
use crate::host::replacement::replace;

/// Bytes that are gathered for one write and one sync: small enough that a sync of the live segment waits for little.
const SLICE_BYTES: usize = 256 * ID_BLOCK_BYTES;

/// Writes a table of exactly the entries its header counts, which come in rising order of their keys.
///
/// Returned `Ok` ⇒ durable under its name; else as [`replace`] says.
///
/// Syscalls: those of [`replace`], with `pwrite64` and `fdatasync` until all is written.
pub(super) fn write(
    disk: &dyn Disk,
    folder: &Path,
    index_key: &Secret,
    header: IdTableHeader,
    entries: impl Iterator<Item = io::Result<IdEntry>>,
    rest: SliceRest<'_>,
) -> io::Result<()> {
    make_folder(disk, folder)?;
    let name = file_name(header.binding.first, header.binding.last);
    replace(disk, folder, &name, UNFINISHED, |file| {
        let mut writer = IdTableWriter::start(file, index_key, header, rest)?;
        for entry in entries {
            writer.push(entry?)?;
        }
        writer.finish()
    })
}

struct IdTableWriter<'r> {
    rest: SliceRest<'r>,
    file: &'r dyn DiskFile,
    /// The file offset of the gathered bytes.
    offset: u64,
    gathered: Vec<u8>,
    check: IdTableCheck,
    blocks: IdBlocks,
    filter: IdFilter,
    /// The entries of the block that is being filled.
    block: Vec<IdEntry>,
    block_number: u64,
    pushed: u64,
    last: Option<IdEntry>,
}

impl<'r> IdTableWriter<'r> {
    fn start(
        file: &'r dyn DiskFile,
        index_key: &Secret,
        header: IdTableHeader,
        rest: SliceRest<'r>,
    ) -> io::Result<Self> {
        let mut writer = Self {
            rest,
            file,
            offset: 0,
            gathered: Vec::with_capacity(SLICE_BYTES),
            check: IdTableCheck::new(index_key),
            blocks: IdBlocks::new(index_key, header),
            filter: IdFilter::for_identities(header.entries),
            block: Vec::with_capacity(ID_BLOCK_ENTRIES),
            block_number: 0,
            pushed: 0,
            last: None,
        };
        writer.put(&header.encode())?;
        Ok(writer)
    }

    fn push(&mut self, entry: IdEntry) -> io::Result<()> {
        if self.last.is_some_and(|last| last.key >= entry.key) {
            return Err(self.wrong());
        }
        self.filter.insert(&entry.key);
        self.block.push(entry);
        self.last = Some(entry);
        self.pushed += 1;
        if self.block.len() == ID_BLOCK_ENTRIES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        let sealed = self.blocks.seal(self.block_number, &self.block).map_err(invalid)?;
        self.put(&sealed)?;
        self.block.clear();
        self.block_number += 1;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        if self.pushed != self.blocks.header().entries {
            return Err(self.wrong());
        }
        self.flush()?;
        let filter = self.filter.as_bytes();
        self.check.update(filter);
        self.file.write_all_at(filter, self.offset)?;
        self.offset += filter.len() as u64;
        self.file.write_all_at(&self.check.finish(), self.offset)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= SLICE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        // All at once: the hash of many chunks side by side is several times as fast.
        self.check.update(&self.gathered);
        self.file.write_all_at(&self.gathered, self.offset)?;
        self.file.sync_data()?;
        self.offset += self.gathered.len() as u64;
        self.gathered.clear();
        (self.rest)()
    }

    /// An identity twice, keys out of order, or another number of them than was announced.
    fn wrong(&self) -> io::Error {
        invalid(IdTableError::Block { block: self.block_number })
    }
}

fn invalid(error: IdTableError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
