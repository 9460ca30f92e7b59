//! The disk of the machine. No other file of this crate touches `std::fs`.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "this is the one door to the disk")]

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, OFlags, fadvise};

use super::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode};

/// New files: read and written by their owner alone.
const FILE_MODE: u32 = 0o600;
/// New folders: entered by their owner alone.
const FOLDER_MODE: u32 = 0o700;
/// Opening waits for nobody. Of regular files it changes nothing.
const NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();
/// The bits of a mode that say who may read, write and execute.
const PERMISSION_BITS: u32 = 0o777;

/// The disk of the machine, through `std::fs`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        match mode {
            OpenMode::Read => options.read(true),
            OpenMode::Write => options.read(true).write(true),
            OpenMode::CreateNew => options.read(true).write(true).create_new(true).mode(FILE_MODE),
        };
        // Whoever put a pipe in the place of a file would otherwise have us wait for its other end.
        let file = options.custom_flags(NONBLOCK).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file; put the file back"));
        }
        Ok(Arc::new(RealFile(file)))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        fs::exists(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let is_folder = if kind.is_symlink() { entry.path().is_dir() } else { kind.is_dir() };
            entries.push(FolderEntry { name: entry.file_name().to_string_lossy().into_owned(), is_folder });
        }
        entries.sort();
        Ok(entries)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        DirBuilder::new().mode(FOLDER_MODE).create(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        fs::metadata(path).map(|metadata| identity_of(&metadata))
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        let metadata = fs::metadata(path).ok()?;
        Some(metadata.permissions().mode() & PERMISSION_BITS)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FolderLock>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
        let file = options.open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
            TryLockError::Error(error) => error,
        })?;
        // Someone may have replaced the file since it was opened: its lock would then exclude nobody.
        if !identity_of(&file.metadata()?).is_same_file(&self.identity(path)?) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(RealLock { _file: file }))
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.0.read_at(buf, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn expect_read(&self, offset: u64, bytes: u64) {
        // A file system that takes no advice reads later.
        let _unheard = fadvise(&self.0, offset, NonZeroU64::new(bytes), Advice::WillNeed).is_err();
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity_of(&self.0.metadata()?))
    }
}

/// The kernel lets go of the lock when the file is closed.
#[derive(Debug)]
struct RealLock {
    _file: File,
}

impl FolderLock for RealLock {}

fn identity_of(metadata: &fs::Metadata) -> FileIdentity {
    FileIdentity { device: metadata.dev(), inode: metadata.ino(), bytes: metadata.len() }
}
