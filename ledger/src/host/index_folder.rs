//! The ledger's folder of tables that can be made again.

use std::io;
use std::path::Path;

use crate::host::disk::Disk;

/// The folder's name in the ledger's.
pub(crate) const INDEX: &str = "index";

/// The suffix of an unfinished table's name.
pub(crate) const UNFINISHED: &str = ".tmp";

/// A copy of the ledger may have come without its empty folders.
pub(crate) fn make_folder(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    match (disk.create_folder(folder), folder.parent()) {
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // One name alone lies in the working folder, which has no empty name.
        (Ok(()), Some(parent)) if parent.as_os_str().is_empty() => disk.sync_folder(Path::new(".")),
        (Ok(()), Some(parent)) => disk.sync_folder(parent),
        (made, _) => made,
    }
}
