//! Files that take their place whole: written under another name, then renamed.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::host::disk::{Disk, DiskFile, OpenMode};

/// Has the name in this folder stand for a new file, which `write` fills. Until it is whole it lies under the same name with
/// `ending` behind it, in the place of one that was left there.
///
/// Returned `Ok` ⇒ durable under its name. After an error, or a crash before, the name stands for what it stood for, or for the whole new
/// file. A crash may leave an unfinished one, which the folder's owner may remove.
///
/// Syscalls: `openat`, those of `write`, `fsync`, `rename`, `fsync` of the folder.
pub(crate) fn replace(
    disk: &dyn Disk,
    folder: &Path,
    name: &str,
    ending: &str,
    write: impl FnOnce(&dyn DiskFile) -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = folder.join(format!("{name}{ending}"));
    write_unfinished(disk, &unfinished, write)?;
    disk.rename(&unfinished, &folder.join(name))?;
    disk.sync_folder(folder)
}

/// The first half of [`replace`]: returned `Ok` ⇒ what `write` wrote is durable, but not the name it lies under. After an
/// error nothing is left of it.
///
/// Syscalls: `openat`, those of `write`, `fsync`.
pub(crate) fn write_unfinished(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn DiskFile) -> io::Result<()>,
) -> io::Result<()> {
    let file = open_anew(disk, path)?;
    write(&*file).and_then(|()| file.sync_all()).inspect_err(|_| {
        // Only to be tidy: the next attempt removes it too.
        let _stays = disk.remove_file(path).is_err();
    })
}

/// An empty file of this name, in the place of one that was left.
pub(crate) fn open_anew(disk: &dyn Disk, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
    match disk.open(path, OpenMode::CreateNew) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove_file(path)?;
            disk.open(path, OpenMode::CreateNew)
        }
        opened => opened,
    }
}
