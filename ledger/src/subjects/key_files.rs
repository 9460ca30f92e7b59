//! Files under names of 16 bytes, each written once, in up to 256 folders.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_formats::SUBJECT_KEY_FILE_BYTES;

use super::SubjectsError;
use crate::host::disk::{Disk, FolderEntry, OpenMode};
use crate::host::lock_order::{LockRank, OrderedMutex, OrderedMutexGuard};
use crate::host::replacement::write_unfinished;

/// One folder for each first byte of a name, so that none grows without bound.
const KEY_FOLDERS: usize = 256;

/// The most bytes read of a file: one more than the longest has, to see that it is too long.
const MAX_READ_BYTES: usize = SUBJECT_KEY_FILE_BYTES + 1;

/// The knowledge of the names in a key folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyFolderState {
    /// Some may be visible and not durable: an earlier process made them, or a rename here failed.
    Unseen,
    /// Every one is durable.
    Durable,
}

/// Set for good once a folder could not be synced: no later sync proves anything of what it held then.
pub(super) type SyncFailure = Arc<AtomicBool>;

/// The key files under names of one kind, spread over key folders.
#[derive(Debug)]
pub(super) struct KeyFiles {
    /// From the ledger's folder, which exists, to this one: each is made in the one before it.
    folders: [PathBuf; 3],
    name: &'static str,
    key_folders: Box<[OrderedMutex<KeyFolderState>]>,
    sync_failed: SyncFailure,
}

/// One key folder, while nobody else writes in it.
#[derive(Debug)]
pub(super) struct KeyFolder<'s> {
    folder: PathBuf,
    state: OrderedMutexGuard<'s, KeyFolderState>,
    sync_failed: &'s AtomicBool,
}

impl KeyFiles {
    /// The files of this name in a ledger's store; all of them share this mark, as they share folders.
    pub(super) fn new(
        ledger: &Path,
        (name, rank): (&'static str, LockRank),
        sync_failed: &SyncFailure,
    ) -> Self {
        let store = ledger.join("subjects");
        let kind = store.join(name);
        let key_folders = (0..KEY_FOLDERS).map(|_| OrderedMutex::new(rank, KeyFolderState::Unseen)).collect();
        Self {
            folders: [ledger.to_owned(), store, kind],
            name,
            key_folders,
            sync_failed: Arc::clone(sync_failed),
        }
    }

    /// The file, relative to the ledger's folder.
    pub(super) fn file_name(&self, name: &[u8; 16]) -> String {
        let [first, rest @ ..] = name;
        format!("subjects/{}/{first:02x}/{}", self.name, hex::encode(rest))
    }

    /// Reads the file under this name, cut at a length that none has; `None` if there is no such file.
    pub(super) fn read(&self, disk: &dyn Disk, name: &[u8; 16]) -> io::Result<Option<Vec<u8>>> {
        let path = file_in(&self.key_folder_path(name), name);
        let file = match disk.open(&path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = usize::try_from(file.len()?).unwrap_or(MAX_READ_BYTES).min(MAX_READ_BYTES);
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Some(bytes))
    }

    /// Returns `true` if something stands under this name.
    pub(super) fn exists(&self, disk: &dyn Disk, name: &[u8; 16]) -> io::Result<bool> {
        disk.exists(&file_in(&self.key_folder_path(name), name))
    }

    /// Returns `true` if there is any file.
    pub(super) fn has_any(&self, disk: &dyn Disk) -> io::Result<bool> {
        let [.., kind] = &self.folders;
        for folder in list(disk, kind)? {
            if !list(disk, &kind.join(folder.name))?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the names of all files; what has no such name is passed over.
    pub(super) fn names(&self, disk: &dyn Disk) -> io::Result<Vec<[u8; 16]>> {
        let [.., kind] = &self.folders;
        let mut names = Vec::new();
        for folder in list(disk, kind)? {
            for file in list(disk, &kind.join(&folder.name))? {
                let mut name = [0; 16];
                if hex::decode_to_slice(format!("{}{}", folder.name, file.name), &mut name).is_ok() {
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    /// The key folder of this name, made if it is missing. Returned `Ok` ⇒ every name in it is durable, and nobody else adds
    /// to it before the key folder is dropped.
    pub(super) fn open(&self, disk: &dyn Disk, name: &[u8; 16]) -> io::Result<KeyFolder<'_>> {
        let [first, ..] = name;
        let state = self.key_folders.get(usize::from(*first)).ok_or(io::ErrorKind::NotFound)?;
        let state = state.lock();
        let mut key_folder =
            KeyFolder { folder: self.key_folder_path(name), state, sync_failed: &self.sync_failed };
        if self.sync_failed.load(Ordering::SeqCst) {
            return Err(SubjectsError::Doubtful.into());
        }
        if *key_folder.state == KeyFolderState::Unseen {
            self.settle(disk, &mut key_folder)?;
        }
        Ok(key_folder)
    }

    /// Makes the key folder, and all it shows, durable.
    fn settle(&self, disk: &dyn Disk, key_folder: &mut KeyFolder<'_>) -> io::Result<()> {
        let [ledger, store, kind] = &self.folders;
        for (folder, parent) in [(store, ledger), (kind, store), (&key_folder.folder, kind)] {
            match disk.create_folder(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => key_folder.sync(disk, parent)?,
            }
        }
        key_folder.sync(disk, &key_folder.folder)?;
        *key_folder.state = KeyFolderState::Durable;
        Ok(())
    }

    fn key_folder_path(&self, name: &[u8; 16]) -> PathBuf {
        let ([.., kind], [first, ..]) = (&self.folders, name);
        kind.join(hex::encode([*first]))
    }
}

impl KeyFolder<'_> {
    /// Writes the file of a name that has none. Returned `Ok` ⇒ durable; a crash before leaves it whole or not at all,
    /// and perhaps an unfinished one beside it.
    ///
    /// Syscalls: `openat`, `pwrite64`, `fsync`, `rename`, `fsync` of the folder.
    pub(super) fn write(&mut self, disk: &dyn Disk, name: &[u8; 16], bytes: &[u8]) -> io::Result<()> {
        let path = file_in(&self.folder, name);
        let unfinished = path.with_extension("tmp");
        write_unfinished(disk, &unfinished, |file| file.write_all_at(bytes, 0))?;
        *self.state = KeyFolderState::Unseen;
        disk.rename(&unfinished, &path)?;
        self.sync(disk, &self.folder)?;
        *self.state = KeyFolderState::Durable;
        Ok(())
    }

    /// Takes the file of a name away, if there is one. Returned `Ok` ⇒ durable.
    ///
    /// Syscalls: `unlink`, `fsync` of the folder.
    pub(super) fn unlink(&mut self, disk: &dyn Disk, name: &[u8; 16]) -> io::Result<()> {
        *self.state = KeyFolderState::Unseen;
        match disk.remove_file(&file_in(&self.folder, name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => self.sync(disk, &self.folder)?,
        }
        *self.state = KeyFolderState::Durable;
        Ok(())
    }

    /// Overwrites the file of a name with zeros, and takes it away. Returned `Ok` ⇒ durable; a crash before leaves the file, zeros in its
    /// place, or none. A disk that keeps older versions of blocks may keep the bytes.
    ///
    /// Syscalls: `openat`, `pwrite64`, `fsync`, and those of [`Self::unlink`].
    pub(super) fn destroy(&mut self, disk: &dyn Disk, name: &[u8; 16]) -> io::Result<()> {
        match disk.open(&file_in(&self.folder, name), OpenMode::Write) {
            Ok(file) => {
                let length = usize::try_from(file.len()?).unwrap_or(MAX_READ_BYTES).min(MAX_READ_BYTES);
                file.write_all_at(&vec![0; length], 0)?;
                file.sync_all()?;
            }
            // What is no file holds no key, and what cannot be opened for writing is unlinked all the same.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "a subject's key is unlinked without being overwritten"),
        }
        self.unlink(disk, name)
    }

    fn sync(&self, disk: &dyn Disk, folder: &Path) -> io::Result<()> {
        disk.sync_folder(folder).inspect_err(|_| self.sync_failed.store(true, Ordering::SeqCst))
    }
}

/// The entries of a folder; none if it is missing.
fn list(disk: &dyn Disk, folder: &Path) -> io::Result<Vec<FolderEntry>> {
    match disk.list(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        listed => listed,
    }
}

fn file_in(key_folder: &Path, name: &[u8; 16]) -> PathBuf {
    let [_, rest @ ..] = name;
    key_folder.join(hex::encode(rest))
}
