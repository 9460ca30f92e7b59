//! A disk below one folder, for tests: it notes every call that changes something, and fails one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode, RealDisk};

/// Clones are the same disk.
#[derive(Debug, Clone)]
pub(crate) struct FaultyDisk {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    calls: Arc<Mutex<DiskCalls>>,
}

#[derive(Debug, Default)]
struct DiskCalls {
    noted: Vec<String>,
    /// The call that fails, counted from 0, and whether it does its work all the same.
    failing: Option<(usize, bool)>,
}

impl FaultyDisk {
    pub(crate) fn below(root: &Path) -> Self {
        Self { disk: Arc::new(RealDisk), root: root.to_owned(), calls: Arc::default() }
    }

    /// Forgets what was noted; of the calls that follow this one fails, with or without effect.
    pub(crate) fn fail(&self, failing: Option<(usize, bool)>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls = DiskCalls { noted: Vec::new(), failing };
    }

    /// The changes since the start or the last [`Self::fail`]: what was called, and the path below the root.
    pub(crate) fn noted(&self) -> Vec<String> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).noted.clone()
    }

    fn change<T>(&self, call: &str, path: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let fails = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            let path = path.strip_prefix(&self.root).unwrap_or(path);
            calls.noted.push(format!("{call} {}", path.display()));
            calls.failing.filter(|(number, _)| number + 1 == calls.noted.len())
        };
        match fails {
            None => work(),
            Some((_, has_effect)) => {
                if has_effect {
                    let _ = work();
                }
                Err(io::Error::other("this call was to fail"))
            }
        }
    }
}

impl Disk for FaultyDisk {
    fn within(&self, folder: &Path) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(Self { disk: self.disk.within(folder)?, ..self.clone() }))
    }

    fn path_for_libraries(&self, path: &Path) -> PathBuf {
        self.disk.path_for_libraries(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let open = || self.disk.open(path, mode);
        let file = if mode == OpenMode::CreateNew { self.change("create", path, open)? } else { open()? };
        Ok(Arc::new(FaultyFile { file, path: path.to_owned(), disk: self.clone() }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        self.disk.list(folder)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.change("create folder", folder, || self.disk.create_folder(folder))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change("rename to", to, || self.disk.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.change("remove", path, || self.disk.remove_file(path))
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.change("remove folder", folder, || self.disk.remove_folder(folder))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.change("sync folder", folder, || self.disk.sync_folder(folder))
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.disk.identity(path)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.disk.mode(path)
    }

    fn free_bytes(&self, folder: &Path) -> Option<u64> {
        self.disk.free_bytes(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FolderLock>> {
        self.disk.lock(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    disk: FaultyDisk,
}

impl DiskFile for FaultyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.disk.change("write", &self.path, || self.file.write_all_at(buf, offset))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.change("sync", &self.path, || self.file.sync_data())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.change("sync", &self.path, || self.file.sync_all())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.disk.change("set length", &self.path, || self.file.set_len(bytes))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.file.identity()
    }
}
