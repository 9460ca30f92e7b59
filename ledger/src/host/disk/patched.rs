//! A disk on which some files read as if changed: it shows the result of a change before it is made.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode};

/// Bytes of a file from `offset` on; the file ends behind them.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    pub(crate) offset: u64,
    pub(crate) bytes: Arc<Vec<u8>>,
}

impl Patch {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// Reads of patched files show the patches, other reads the disk itself. Nothing is changed.
#[derive(Debug)]
pub(crate) struct PatchedDisk {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) patches: BTreeMap<PathBuf, Patch>,
}

impl Disk for PatchedDisk {
    fn within(&self, folder: &Path) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(Self { disk: self.disk.within(folder)?, patches: self.patches.clone() }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        match self.patches.get(path) {
            _ if mode != OpenMode::Read => refused(),
            None => self.disk.open(path, mode),
            Some(patch) => {
                let file = match self.disk.open(path, mode) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    opened => Some(opened?),
                };
                Ok(Arc::new(PatchedFile { file, patch: patch.clone() }))
            }
        }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.patches.contains_key(path) || self.disk.exists(path)?)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        let mut entries = self.disk.list(folder)?;
        for path in self.patches.keys().filter(|path| path.parent() == Some(folder)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if entries.iter().all(|entry| entry.name != name) {
                entries.push(FolderEntry { name, is_folder: false });
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn create_folder(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn remove_file(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn remove_folder(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.disk.identity(path)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.disk.mode(path)
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn FolderLock>> {
        refused()
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

#[derive(Debug)]
struct PatchedFile {
    /// `None`: there is no such file yet.
    file: Option<Arc<dyn DiskFile>>,
    patch: Patch,
}

impl DiskFile for PatchedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(inner) = offset.checked_sub(self.patch.offset) else {
            let before = usize::try_from(self.patch.offset - offset).unwrap_or(usize::MAX);
            let length = buf.len().min(before);
            let buf = buf.get_mut(..length).unwrap_or_default();
            return self.file.as_ref().map_or(Ok(0), |file| file.read_at(buf, offset));
        };
        let rest = usize::try_from(inner).ok().and_then(|inner| self.patch.bytes.get(inner..));
        let rest = rest.unwrap_or_default();
        let length = buf.len().min(rest.len());
        if let (Some(into), Some(from)) = (buf.get_mut(..length), rest.get(..length)) {
            into.copy_from_slice(from);
        }
        Ok(length)
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        refused()
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.patch.end())
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.file.as_ref().map_or(Err(io::ErrorKind::NotFound.into()), |file| file.identity())
    }
}
