//! A block of the index on the disk.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{
    INDEX_HEADER_BYTES, IndexBlock, IndexError, IndexExtent, IndexHeader, IndexPage, IndexTerm, Position,
    Secret,
};
use bitacora_ledger::{Disk, DiskFile, OpenMode};

/// The reasons for which a block is not believed. It is then made again from the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlockIntegrityError {
    /// The disk gave an error.
    #[error("{0}")]
    Disk(#[from] io::Error),
    /// The bytes are not those of a block under this key.
    #[error("{0}")]
    Bytes(#[from] IndexError),
    /// It is authentic, but not of this ledger as it is.
    #[error("it is not of this ledger's history")]
    History,
}

/// A block whose header and directory have proven authentic; its pages prove it one by one.
pub(crate) struct StoredBlock {
    path: PathBuf,
    block: IndexBlock,
    bytes: u64,
}

impl StoredBlock {
    /// Opens the block in a file.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        derived_state_key: &Secret,
    ) -> Result<Self, BlockIntegrityError> {
        let file = disk.open(path, OpenMode::Read)?;
        let mut header = [0; INDEX_HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        let header = IndexHeader::parse(&header)?;
        let (at, bytes) = header.directory_place();
        let mut directory = vec![0; bytes];
        file.read_exact_at(&mut directory, at)?;
        let bytes = file.len()?;
        let block = IndexBlock::open(derived_state_key, header, &directory, bytes)?;
        Ok(Self { path: path.to_owned(), block, bytes })
    }

    pub(crate) fn header(&self) -> &IndexHeader {
        self.block.header()
    }

    pub(crate) fn extent(&self) -> &IndexExtent {
        &self.block.header().extent
    }

    pub(crate) fn first(&self) -> Position {
        self.extent().first
    }

    pub(crate) fn last(&self) -> Position {
        self.extent().last
    }

    /// The length of its file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Ready to be searched. The file is opened for each search: a ledger has many blocks, and few are searched.
    pub(crate) fn search<'b>(&'b self, disk: &dyn Disk) -> Result<Search<'b>, BlockIntegrityError> {
        Ok(Search { block: &self.block, file: disk.open(&self.path, OpenMode::Read)? })
    }

    /// All entries, sorted.
    pub(crate) fn entries(&self, disk: &dyn Disk) -> Result<Vec<u64>, BlockIntegrityError> {
        let search = self.search(disk)?;
        let mut entries = Vec::new();
        for number in 0..self.header().pages {
            search.page(number)?.find(&(0..=u64::MAX), |entry| entries.push(entry))?;
        }
        if entries.is_sorted_by(|one, next| one < next) {
            Ok(entries)
        } else {
            Err(IndexError::Malformed.into())
        }
    }
}

/// A block that is being searched.
pub(crate) struct Search<'b> {
    block: &'b IndexBlock,
    file: std::sync::Arc<dyn DiskFile>,
}

impl Search<'_> {
    /// The offsets between `first` and `last` of the events that carry a term, ascending.
    pub(crate) fn offsets(
        &self,
        term: IndexTerm,
        first: u64,
        last: u64,
    ) -> Result<Vec<u64>, BlockIntegrityError> {
        let wanted = term.entries(first, last);
        let mut offsets = Vec::new();
        for number in self.block.pages_with(&wanted) {
            self.page(number)?.find(&wanted, |entry| offsets.push(IndexTerm::offset_of(entry)))?;
        }
        Ok(offsets)
    }

    fn page(&self, number: u32) -> Result<IndexPage, BlockIntegrityError> {
        let (at, bytes) = self.block.page_place(number).ok_or(IndexError::Malformed)?;
        let mut sealed = vec![0; bytes];
        self.file.read_exact_at(&mut sealed, at)?;
        Ok(self.block.open_page(number, &sealed)?)
    }
}
