//! Small files that are there as a whole or not at all, for their owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Its owner reads and writes it, nobody else does anything.
const FILE_MODE: u32 = 0o600;

/// Makes a file that must not exist yet. Returned `Ok` ⇒ it and its name are durable; after an error there is no new file.
/// A crash before leaves no file or any part of it.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = create_new(path)?;
    write_durably(file, bytes).and_then(|()| sync_folder_of(path)).inspect_err(|_| {
        // Better no file than half of one; where it cannot be removed either, reading it will tell.
        let _stays = fs::remove_file(path).is_err();
    })
}

/// Writes a file in the place of the one that has the name, if any. Returned `Ok` ⇒ the new one is durable; a crash before
/// leaves the old one or the new one, and perhaps a copy of the new one under a name that ends in `.new`.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = path.with_file_name(name);
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    write_durably(create_new(&fresh)?, bytes)?;
    fs::rename(&fresh, path)?;
    sync_folder_of(path)
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

fn write_durably(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// The folder that the name lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
