//! The note of a clean close beside a store: a digest of the store's files.
//!
//! Reading files is much faster than opening rows. Where the note is missing or does not fit, all rows are opened.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::{STORE_NOTE_BYTES, Secret, StoreHash};
use bitacora_ledger::{Disk, Environment, OpenMode};

use crate::limits::{HASHED_PIECE_BYTES, MAX_STORE_DEPTH};

/// The note of one store.
pub(crate) struct CleanClose<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) store: &'a Path,
    pub(crate) note: PathBuf,
    pub(crate) key: &'a Secret,
}

impl CleanClose<'_> {
    /// Returns `true` if the store's files are those of the note. The note is gone after this: it does not cover later writes to the
    /// store.
    pub(crate) fn take(&self) -> bool {
        let disk = &*self.environment.disk;
        let noted = self.read();
        match disk.remove_file(&self.note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return false,
            _ => {}
        }
        match (noted, self.hash()) {
            (Ok(noted), Ok(now)) => noted == now,
            _ => false,
        }
    }

    /// Notes what the files of the store, which nothing writes any more, come to.
    pub(crate) fn write(&self) -> io::Result<()> {
        let note = self.hash()?;
        let file = self.environment.disk.open(&self.note, OpenMode::CreateNew)?;
        file.write_all_at(&note, 0)
    }

    fn read(&self) -> io::Result<[u8; STORE_NOTE_BYTES]> {
        let file = self.environment.disk.open(&self.note, OpenMode::Read)?;
        if file.identity()?.bytes != STORE_NOTE_BYTES as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut note = [0; STORE_NOTE_BYTES];
        file.read_exact_at(&mut note, 0)?;
        Ok(note)
    }

    fn hash(&self) -> io::Result<[u8; STORE_NOTE_BYTES]> {
        let mut hash = StoreHash::new(self.key);
        hash_folder(&*self.environment.disk, self.store, "", MAX_STORE_DEPTH, &mut hash)?;
        Ok(hash.note())
    }
}

fn hash_folder(
    disk: &dyn Disk,
    folder: &Path,
    path: &str,
    depth: usize,
    hash: &mut StoreHash,
) -> io::Result<()> {
    let deeper = depth.checked_sub(1).ok_or(io::ErrorKind::InvalidData)?;
    for entry in disk.list(folder)? {
        let (at, path) = (folder.join(&entry.name), format!("{path}{}", entry.name));
        if entry.is_folder {
            hash_folder(disk, &at, &(path + "/"), deeper, hash)?;
            continue;
        }
        let file = disk.open(&at, OpenMode::Read)?;
        let bytes = file.identity()?.bytes;
        hash.file(&path, bytes);
        let mut piece = vec![0; HASHED_PIECE_BYTES];
        let mut read = 0;
        while read < bytes {
            let length =
                usize::try_from(bytes - read).map_or(HASHED_PIECE_BYTES, |left| left.min(HASHED_PIECE_BYTES));
            let piece = piece.get_mut(..length).unwrap_or_default();
            file.read_exact_at(piece, read)?;
            hash.bytes(piece);
            read += length as u64;
        }
    }
    Ok(())
}

/// Takes a folder away with all that is in it, as far as that goes.
pub(crate) fn remove_all(disk: &dyn Disk, folder: &Path, depth: usize) -> io::Result<()> {
    let deeper = depth.checked_sub(1).ok_or(io::ErrorKind::InvalidData)?;
    for entry in disk.list(folder)? {
        let at = folder.join(&entry.name);
        if entry.is_folder {
            remove_all(disk, &at, deeper)?;
        } else {
            disk.remove_file(&at)?;
        }
    }
    disk.remove_folder(folder)
}
