//! Small files, written atomically, with access for their owner alone.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The mode: access for the owner alone.
const FILE_MODE: u32 = 0o600;

/// Creates a file that must not exist yet. Returned `Ok` ⇒ it and its name are durable; after an error there is no new
/// file. A crash before leaves no file or any part of it.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`], or an error of the disk.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = create_new(path)?;
    write_durably(file, bytes).and_then(|()| sync_folder_of(path)).inspect_err(|_| {
        // Better no file than half of one; where it cannot be removed either, reading it will tell.
        let _stays = fs::remove_file(path).is_err();
    })
}

/// Creates a file that must not exist yet, in one step: once its name is visible, so are all its bytes. Returned `Ok` ⇒
/// it and its name are durable. Of several concurrent callers, one creates it; the others get
/// [`io::ErrorKind::AlreadyExists`]. A crash leaves no file or the whole one, and perhaps a copy beside it whose name
/// begins with `.new-`.
pub(crate) fn create_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = fresh_beside(path);
    let file = create_new(&fresh)?;
    let named = write_durably(file, bytes).and_then(|()| fs::hard_link(&fresh, path));
    fs::remove_file(&fresh)?;
    named?;
    sync_folder_of(path)
}

/// A file that is written piece by piece beside its place. Dropped before its end, it leaves nothing.
pub struct UnfinishedFile {
    file: File,
    fresh: PathBuf,
    path: PathBuf,
}

impl UnfinishedFile {
    /// Begins a file. An existing file of that name stays as it is until [`Self::finish`].
    ///
    /// # Errors
    /// An error of the disk.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let fresh = fresh_beside(path);
        Ok(Self { file: create_new(&fresh)?, fresh, path: path.to_owned() })
    }

    /// Returns another handle for writing it.
    ///
    /// # Errors
    /// The system has no more handles.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Renames it over an existing file of that name, if there is one. Returned `Ok` ⇒ durable; a crash before leaves the old file.
    ///
    /// # Errors
    /// An error of the disk. The old file is still there.
    pub fn finish(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.fresh, &self.path)?;
        sync_folder_of(&self.path)
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        // Of a finished one this name is gone; of another one that cannot be removed the name tells what it is.
        let _stays = fs::remove_file(&self.fresh).is_err();
    }
}

/// Makes the name of a file durable that another process may have created just now.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    sync_folder_of(path)
}

/// Replaces the file of that name, or creates it. Returned `Ok` ⇒ the new one is durable; a crash before leaves the old
/// one or the new one, and perhaps a copy of the new one whose name begins with `.new-`. No other file is touched.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = UnfinishedFile::begin(path)?;
    unfinished.file.write_all(bytes)?;
    unfinished.finish()
}

/// Returns a random name beside that of the file, under which no other process writes: in containers, processes may have the same id.
fn fresh_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(format!(".new-{:016x}-", RandomState::new().build_hasher().finish()));
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
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

/// Returns the folder of the file.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
