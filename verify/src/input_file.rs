//! Files that a user names: regular files only, read up to a limit.
//! Opening a pipe would wait for its writer. The exceptions are pipes that a shell has opened for the program.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open as open_with};

/// The names of the program's own open files: standard input, and the substitutes of a shell for `<(…)`.
const OPEN_FILES: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Opens a regular file, the target of a link to one, or a pipe that is open already. Never waits for a writer.
///
/// # Errors
/// An error of the system, or a folder, a pipe or a device in the place of a file.
pub fn open(path: &Path) -> io::Result<File> {
    if is_open_already(path) {
        return File::open(path);
    }
    let file = open_at_once(path)?;
    must_be_regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens any file with this name for reading, without waiting for a writer. The caller checks its kind.
///
/// # Errors
/// An error of the system.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(open_with(path, flags, Mode::empty())?))
}

/// Returns `true` if the path names a file that the program has open, and that a shell chose.
#[must_use]
pub fn is_open_already(path: &Path) -> bool {
    OPEN_FILES.iter().any(|open| path.starts_with(open))
}

/// Refuses what [`open`] refuses, by the name and the metadata of a file.
///
/// # Errors
/// The kind that was found.
pub fn check(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if is_open_already(path) { Ok(()) } else { must_be_regular(metadata) }
}

/// Refuses a folder, a pipe, a socket or a device.
///
/// # Errors
/// The kind that was found.
pub fn must_be_regular(metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let found = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::other(format!("found {found}, expected a regular file; write what it gives into one")))
}

/// Refuses an existing file that is not regular: opening a pipe would wait for its other end.
///
/// # Errors
/// The kind that was found, or an error of the system.
pub fn refuse_irregular(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        metadata => must_be_regular(&metadata?),
    }
}

/// Reads a file that [`open`] opens. Of a file longer than `limit`, one byte more is read, which is enough to refuse it.
///
/// # Errors
/// As [`open`], and an error of the system.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    // With its room at once: a vector that grows leaves copies of secrets behind.
    let mut bytes = Vec::with_capacity(length.min(limit).saturating_add(1));
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let why = |path: &Path| read(path, 10).unwrap_err().to_string();
        assert!(why(&pipe).contains("found a pipe") && why(folder.path()).contains("found a folder"));
        assert!(refuse_irregular(&pipe).is_err() && refuse_irregular(&folder.path().join("new")).is_ok());
        assert!(why(Path::new("/dev/zero")).contains("found a device"));
    }

    #[test]
    fn no_more_is_read_than_tells_that_it_is_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, [1; 20]).unwrap();
        assert_eq!((read(&file, 20).unwrap().len(), read(&file, 5).unwrap().len()), (20, 6));
    }
}
