//! The ledger's folder of tables that can be made again: how a file is begun there.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, OpenMode};

/// The folder's name in the ledger's.
pub(crate) const INDEX: &str = "index";

/// How the name of an unfinished table ends.
pub(crate) const UNFINISHED: &str = ".tmp";

/// A copy of the ledger may have come without its empty folders.
pub(crate) fn make_folder(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    match (disk.create_folder(folder), folder.parent()) {
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        (Ok(()), Some(parent)) => disk.sync_folder(parent),
        (made, _) => made,
    }
}

/// An empty file under the name of an unfinished table, in the place of one that was left.
pub(crate) fn open_unfinished(disk: &dyn Disk, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
    match disk.open(path, OpenMode::CreateNew) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove_file(path)?;
            disk.open(path, OpenMode::CreateNew)
        }
        opened => opened,
    }
}
