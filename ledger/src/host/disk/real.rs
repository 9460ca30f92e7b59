//! The disk of the machine. No other file of this crate touches `std::fs`.

#![expect(clippy::disallowed_types, reason = "this is the one door to the disk")]

mod file;
mod folder;
mod identity;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::CWD;

use self::folder::{FolderPath, RealFolder};
use super::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode};

/// The disk of the machine, by paths as they lead at each call.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

/// As the process sees it.
fn anywhere(path: &Path) -> FolderPath<'_> {
    FolderPath { folder: CWD, path }
}

impl Disk for RealDisk {
    fn within(&self, folder: &Path) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(RealFolder::open(anywhere(folder), folder)?))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        anywhere(path).open(mode)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        anywhere(path).exists()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        anywhere(folder).list()
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        anywhere(folder).create_folder()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        anywhere(from).rename(anywhere(to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        anywhere(path).remove_file()
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        anywhere(folder).remove_folder()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        anywhere(folder).sync_folder()
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        anywhere(path).identity()
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        anywhere(path).mode()
    }

    fn free_bytes(&self, folder: &Path) -> Option<u64> {
        anywhere(folder).free_bytes()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FolderLock>> {
        anywhere(path).lock(path)
    }
}
