//! The identity of a file, asked for without its times.
//!
//! Since Linux 6.13 a write after a look at a file's times gives the file new times, finer than the clock's tick. The next sync then has
//! to write an inode beside the data ([multigrain timestamps]). The writer looks at its file after each frame.
//!
//! [multigrain timestamps]: https://docs.kernel.org/filesystems/multigrain-ts.html

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

#[cfg(any(target_os = "linux", target_os = "android"))]
use rustix::fs::{AtFlags, FileType, StatxFlags, makedev, statx};
use rustix::fs::{Mode, OFlags, openat};

use super::super::FileIdentity;

/// The bits of a mode that say who may read, write and execute.
const PERMISSION_BITS: u32 = 0o777;

/// Metadata of an entry or of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryMetadata {
    pub(super) identity: FileIdentity,
    pub(super) is_regular_file: bool,
    pub(super) is_folder: bool,
    /// The permission bits.
    pub(super) permissions: u32,
}

/// An open file.
///
/// Syscalls: `statx` of the file itself.
pub(super) fn of_file(file: &File) -> io::Result<EntryMetadata> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match ask(file, Path::new(""), AtFlags::EMPTY_PATH) {
        Err(error) if is_not_there(&error) => {}
        asked => return asked,
    }
    with_times(file)
}

/// Returns the metadata behind a path below this folder; links are followed.
///
/// Syscalls: `statx`.
pub(super) fn of_path(folder: BorrowedFd<'_>, path: &Path) -> io::Result<EntryMetadata> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match ask(folder, path, AtFlags::empty()) {
        Err(error) if is_not_there(&error) => {}
        asked => return asked,
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    with_times(&File::from(openat(folder, path, flags, Mode::empty())?))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn ask(folder: impl std::os::fd::AsFd, path: &Path, flags: AtFlags) -> io::Result<EntryMetadata> {
    let wanted = StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::INO | StatxFlags::SIZE;
    let found = statx(folder, path, flags, wanted)?;
    let kind = FileType::from_raw_mode(found.stx_mode.into());
    Ok(EntryMetadata {
        identity: FileIdentity {
            device: makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            bytes: found.stx_size,
        },
        is_regular_file: kind == FileType::RegularFile,
        is_folder: kind == FileType::Directory,
        permissions: u32::from(found.stx_mode) & PERMISSION_BITS,
    })
}

/// `true`: this kernel has no `statx`.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_not_there(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error())
}

/// Asks for the times too, where there is no other way.
fn with_times(file: &File) -> io::Result<EntryMetadata> {
    let metadata = file.metadata()?;
    Ok(EntryMetadata {
        identity: FileIdentity { device: metadata.dev(), inode: metadata.ino(), bytes: metadata.len() },
        is_regular_file: metadata.is_file(),
        is_folder: metadata.is_dir(),
        permissions: metadata.permissions().mode() & PERMISSION_BITS,
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use rustix::fs::CWD;
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    /// Tries until one fits between two ticks of the clock, with no other program asking for times meanwhile.
    const TRIES: usize = 5_000;

    #[test]
    fn both_ways_say_the_same_of_files_folders_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        let file = File::create(&path).unwrap();
        file.write_all_at(b"seven b", 0).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let asked = of_file(&file).unwrap();
        assert_eq!(asked, with_times(&file).unwrap());
        assert_eq!((asked.identity.bytes, asked.is_regular_file, asked.is_folder), (7, true, false));
        let opened = File::open(folder.path()).unwrap();
        for name in ["file", "link"] {
            assert_eq!(of_path(opened.as_fd(), Path::new(name)).unwrap(), asked, "{name}");
        }
        assert_eq!(of_path(CWD, folder.path()).unwrap(), with_times(&opened).unwrap());
        assert_eq!(of_path(CWD, &path.join("x")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    /// A file whose times were not asked for keeps the tick of its first write through a second one.
    fn keeps_its_times(look: impl Fn(&File, &Path)) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let tick = || {
            let now = clock_gettime(ClockId::RealtimeCoarse);
            (now.tv_sec, now.tv_nsec)
        };
        (0..TRIES).any(|number| {
            // A new one each time: the look at the end asks for the times of the last.
            let path = folder.path().join(number.to_string());
            let file = File::create(&path).unwrap();
            let before = tick();
            file.write_all_at(b"one", 0).unwrap();
            look(&file, &path);
            file.write_all_at(b"two", 0).unwrap();
            let after = tick();
            let metadata = file.metadata().unwrap();
            before == after && (metadata.mtime(), metadata.mtime_nsec()) == before
        })
    }

    #[test]
    fn a_look_does_not_make_the_next_write_change_the_times() {
        assert!(keeps_its_times(|file, path| {
            let (open, named) = (of_file(file).unwrap(), of_path(CWD, path).unwrap());
            assert_eq!(open, named);
        }));
    }
}
