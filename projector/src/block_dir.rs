//! The folder of the index's blocks: one file each, named by its first position.
//!
//! Nothing here is synced. After a crash a block may be missing, cut or full of zeros; it then does not prove authentic,
//! and is made again. So the index never makes the log's own syncs wait.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{ChainHash, Position, Secret, seal_index_block};
use bitacora_ledger::{Environment, Ledger, OpenMode};

use crate::limits::MAX_BLOCKS;
use crate::stored_block::{BlockIntegrityError, StoredBlock};

/// The folder of all derived state in a ledger's folder.
pub(crate) const PROJECTIONS: &str = "projections";
/// The index's folder in it.
const INDEX: &str = "index";
/// The suffix of a block's name.
const ENDING: &str = ".idx";
/// The suffix of a block's name while it is written.
const UNFINISHED: &str = ".new";

/// The folder of one ledger's blocks, and the key that opens them.
pub(crate) struct BlockDir {
    environment: Environment,
    folder: PathBuf,
    derived_state_key: Secret,
}

impl BlockDir {
    pub(crate) fn new(environment: Environment, ledger: &Path, derived_state_key: Secret) -> Self {
        let folder = ledger.join(PROJECTIONS).join(INDEX);
        Self { environment, folder, derived_state_key }
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The blocks that lie there, in order and without overlaps, as far as they are believed: authentic, and of this
    /// ledger's history. Others are removed; files that are not the index's are left alone.
    pub(crate) fn verified(&self, ledger: &Ledger, is_ending: impl Fn() -> bool) -> Vec<StoredBlock> {
        let disk = &*self.environment.disk;
        let entries = match disk.list(&self.folder) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%error, folder = %self.folder.display(), "the index could not be listed; it is made again");
                }
                return Vec::new();
            }
        };
        let mut verified: Vec<StoredBlock> = Vec::new();
        let own = entries.into_iter().filter(|entry| !entry.is_folder && is_own(&entry.name));
        for entry in own.take(MAX_BLOCKS) {
            if is_ending() {
                break;
            }
            let path = self.folder.join(&entry.name);
            let after = verified.last().map(StoredBlock::last);
            match self.check(ledger, &path, &entry.name, after) {
                Ok(block) => verified.push(block),
                Err(integrity_error) => {
                    tracing::warn!(%integrity_error, file = %path.display(), "a block of the index is not believed; it is made again");
                    self.remove(&path);
                }
            }
        }
        verified
    }

    /// Opens a block and compares it with the log: the frame of its last position commits to every event before it.
    fn check(
        &self,
        ledger: &Ledger,
        path: &Path,
        name: &str,
        after: Option<Position>,
    ) -> Result<StoredBlock, BlockIntegrityError> {
        let block = StoredBlock::open(&*self.environment.disk, path, &self.derived_state_key)?;
        let extent = block.extent();
        let in_place = file_name(extent.first) == name && after.is_none_or(|after| after < extent.first);
        if !in_place || extent.ledger != ledger.id() {
            return Err(BlockIntegrityError::History);
        }
        // Released events were read back and verified, so that no other history can have taken their place since.
        if ledger.released_through().is_some_and(|released| extent.last <= released) {
            return Ok(block);
        }
        let frame = ledger.frame_of(extent.last).map_err(|_| BlockIntegrityError::History)?;
        if (frame.previous, frame.tree_root) == (Some(extent.previous), extent.tree_root) {
            Ok(block)
        } else {
            Err(BlockIntegrityError::History)
        }
    }

    /// Writes a block of these sorted entries and puts it in place, where it replaces one that begins at the same position.
    pub(crate) fn store(
        &self,
        ledger: &Ledger,
        first: Position,
        last: Position,
        entries: &[u64],
    ) -> Result<StoredBlock, BlockIntegrityError> {
        let frame = ledger.frame_of(last).map_err(|error| io::Error::other(error.to_string()))?;
        let extent = bitacora_formats::IndexExtent {
            ledger: ledger.id(),
            first,
            last,
            previous: frame.previous.unwrap_or(ChainHash([0; 32])),
            tree_root: frame.tree_root,
        };
        let (_, block) = seal_index_block(&self.derived_state_key, &extent, entries)?;
        let path = self.folder.join(file_name(first));
        let unfinished = self.folder.join(file_name(first) + UNFINISHED);
        self.write(&unfinished, &block).inspect_err(|_| self.remove(&unfinished))?;
        self.environment.disk.rename(&unfinished, &path).inspect_err(|_| self.remove(&unfinished))?;
        StoredBlock::open(&*self.environment.disk, &path, &self.derived_state_key)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let disk = &*self.environment.disk;
        self.remove(path);
        let file = match disk.open(path, OpenMode::CreateNew) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folders()?;
                disk.open(path, OpenMode::CreateNew)?
            }
            other => other?,
        };
        file.write_all_at(bytes, 0)
    }

    fn make_folders(&self) -> io::Result<()> {
        for folder in self.folder.parent().into_iter().chain([self.folder.as_path()]) {
            match self.environment.disk.create_folder(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes a file away. A file that cannot be removed is not believed the next time either.
    pub(crate) fn remove(&self, path: &Path) {
        if let Err(error) = self.environment.disk.remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(%error, file = %path.display(), "a file of the index could not be removed");
        }
    }
}

/// Returns `true` if a file has a name that the index gives.
fn is_own(name: &str) -> bool {
    let digits = name.strip_suffix(UNFINISHED).unwrap_or(name).strip_suffix(ENDING);
    digits.is_some_and(|digits| digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// In twenty digits, so that names sort as positions do.
fn file_name(first: Position) -> String {
    format!("{:020}{ENDING}", first.get())
}
