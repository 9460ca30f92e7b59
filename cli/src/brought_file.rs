//! Files that a user names: read as far as they may be long, and only if they are files. Who opens a pipe waits for its writer,
//! but for the pipes that a shell has opened for the program.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Where the program's own open files have names: standard input, and what a shell puts in the place of `<(…)`.
const OPEN_FILES: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// The bytes of a regular file, or of what a link to one leads to, or of a pipe that is open already; of one that is longer than
/// `limit` one byte more, which is enough to refuse it.
pub(crate) fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    if OPEN_FILES.iter().any(|open| path.starts_with(open)) {
        return bounded(File::open(path)?, limit);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no regular file; write what it gives into one"));
    }
    bounded(file, limit)
}

fn bounded(file: File, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(read(&pipe, 10).is_err() && read(folder.path(), 10).is_err());
    }

    #[test]
    fn no_more_is_read_than_tells_that_it_is_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, [1; 20]).unwrap();
        assert_eq!((read(&file, 20).unwrap().len(), read(&file, 5).unwrap().len()), (20, 6));
    }
}
