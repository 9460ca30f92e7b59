//! The file that an archive is packed into before a store has it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_ledger::{Disk, DiskFile, OpenMode};

/// Written from its beginning to its end, then read. Removed when it is dropped; what a crash leaves, the next one replaces.
pub(crate) struct PackingFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    bytes: u64,
}

impl PackingFile {
    /// An empty one in this folder, in the place of one that was left.
    pub(crate) fn create(disk: &Arc<dyn Disk>, folder: &Path) -> io::Result<Self> {
        let path = folder.join("packing");
        match disk.remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.open(&path, OpenMode::CreateNew)?;
        Ok(Self { disk: Arc::clone(disk), path, file, bytes: 0 })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

impl fmt::Debug for PackingFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("PackingFile").field(&self.path).field(&self.bytes).finish()
    }
}

impl Drop for PackingFile {
    fn drop(&mut self) {
        // Only to be tidy: the next one replaces it.
        let _stays = self.disk.remove_file(&self.path).is_err();
    }
}
