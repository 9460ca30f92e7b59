//! File access behind two small traits: the only way the ledger touches a disk.
//!
//! The crash contract, which [`RealDisk`] takes from POSIX and the simulated disk of the tests enforces:
//!
//! - What was written is durable once a later [`DiskFile::sync_data`] or [`DiskFile::sync_all`] of the same file has
//!   returned `Ok`. Before that a crash may keep any subset of it, in any order, torn at sector granularity.
//! - A name (created, renamed, removed) is durable once [`Disk::sync_folder`] of the folder that holds it has returned
//!   `Ok`. Before that a crash may keep or lose each change of a name on its own. Syncing a file does not sync its name.
//! - After a failed sync nothing is known about what was written since the last good one, and a second sync that returns `Ok` proves
//!   nothing: the kernel may have dropped the pages and called them clean. A process that sees a write or sync of the live segment fail
//!   must not acknowledge anything again.
//!
//! Every method blocks; none is to be called from an async worker thread.

#[cfg(test)]
mod faulty;
mod patched;
mod real;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(test)]
pub(crate) use faulty::FaultyDisk;
pub(crate) use patched::{Patch, PatchedDisk};
pub use real::RealDisk;

/// The ways to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading only.
    Read,
    /// An existing file, for reading and writing in place; its length and contents stay.
    Write,
    /// A file that must not exist yet (else `AlreadyExists`), for reading and writing; readable by its owner alone.
    CreateNew,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderEntry {
    /// The name, without the folder; bytes that are not UTF-8 are shown as U+FFFD, and such a name opens nothing.
    pub name: String,
    /// `true` for a folder and for a link to one.
    pub is_folder: bool,
}

/// Returns `true` where [`Disk::open`] found no regular file under a name: nothing, a link to nothing, a pipe, a folder. An error that may pass
/// says nothing about that.
pub(crate) fn is_no_file(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::InvalidInput];
    kinds.contains(&error.kind())
}

/// The identity of a file, whatever its name: it shows that an open file was unlinked, renamed or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    /// The file system it lies on.
    pub device: u64,
    /// Its number there; not given to another file while this one is open.
    pub inode: u64,
    /// Its length in bytes when asked.
    pub bytes: u64,
}

impl FileIdentity {
    /// Returns `true` if both are the same file; its length may have changed in between.
    #[must_use]
    pub const fn is_same_file(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

/// A tree of folders and files. Errors keep the operating system's kind and number; callers add the path.
///
/// Paths lead wherever their names stand at each call. [`Disk::within`] gives a disk whose paths lead into one folder for good.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    /// The disk below one folder, which is opened now. Paths keep their form, and all have to lie within `folder` by their
    /// names (else `InvalidInput`); they lead into the folder that stands there now. A folder that is moved away later, with
    /// another one in its place, takes what is written, and the other one is left alone. [`Disk::identity`] and [`Disk::lock`]
    /// compare with what others find under the path. Links within the folder are followed.
    ///
    /// Syscalls: `openat(O_DIRECTORY)`; every call below then begins at that folder, by `openat`, `mkdirat`, `renameat`, `unlinkat`.
    fn within(&self, folder: &Path) -> io::Result<Arc<dyn Disk>>;

    /// Gives libraries, which open files by paths alone, one that leads there. That of a [`Disk::within`] leads into its folder, wherever
    /// that is moved, and only while the disk lives: afterwards it may lead anywhere. Without `/proc` it is the path itself.
    ///
    /// Syscalls: `statx` of the folder and of `/proc/self/fd/<number>`.
    fn path_for_libraries(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// Opens a regular file, or a link to one; anything else is `InvalidInput`, and waited for by nobody. A file made by `CreateNew` is empty, and its name is not durable before `sync_folder` of the
    /// folder that holds it: a crash may leave no file, or one with any part of what was written.
    ///
    /// Syscalls: `openat(O_CLOEXEC|O_NONBLOCK)` with `O_RDONLY`, `O_RDWR`, or `O_RDWR|O_CREAT|O_EXCL` and mode 0600; `statx`.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>>;

    /// Returns `true` if something stands under this name; an error where that cannot be told. A link that leads nowhere is nothing, a
    /// link that leads in a circle is something.
    ///
    /// Syscalls: `statx`.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Returns the entries of a folder, sorted by name, without `.` and `..`.
    ///
    /// Syscalls: `openat(O_DIRECTORY)`, `getdents64` until empty, `close`.
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>>;

    /// Makes one folder, for its owner alone; its parent must exist. Its name is durable after `sync_folder` of the
    /// parent: a crash before may lose it with all it holds.
    ///
    /// Syscalls: `mkdir` with mode 0700.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Gives a file or folder another name, and replaces in one step a file (or an empty folder) that has it. A crash before
    /// `sync_folder` of the parent (of both, if there are two) leaves it under the old name or the new one: never both, never neither.
    /// The replaced file is gone only if the new one stands there. That needs a file system with a journal, as all are that we name.
    ///
    /// Syscalls: `rename`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a file's name away. An open handle stays usable. A crash before `sync_folder` of the parent may bring the name back.
    ///
    /// Syscalls: `unlink`.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder (else `DirectoryNotEmpty`). A crash before `sync_folder` of the parent may bring it back.
    ///
    /// Syscalls: `rmdir`.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;

    /// Returned `Ok` ⇒ the names in this folder are durable as they stand; not what the files contain, and not the
    /// folder's own name in its parent.
    ///
    /// Syscalls: `openat(O_RDONLY)`, `fsync`, `close`.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Returns the identity of the file that stands under this name now, by its whole path, as others find it. It is to be compared with
    /// [`DiskFile::identity`] of the open file.
    ///
    /// Syscalls: `statx`.
    fn identity(&self, path: &Path) -> io::Result<FileIdentity>;

    /// The permission bits (`0o777`) of what stands under this name; `None` where there is nothing or it cannot be told.
    ///
    /// Syscalls: `statx`.
    fn mode(&self, path: &Path) -> Option<u32>;

    /// Returns the bytes that are free for this user on the file system where this folder lies; `None` where it cannot be told.
    ///
    /// Syscalls: `openat(O_DIRECTORY)`, `fstatfs`, `close`.
    fn free_bytes(&self, _folder: &Path) -> Option<u64> {
        None
    }

    /// Takes the exclusive lock on the lock file at `path`, made empty if missing. Never waits: `WouldBlock` where
    /// another holder, in this process or another, has it. Held until the returned value is dropped or the process ends;
    /// a crash leaves the file and no lock.
    ///
    /// Syscalls: `openat(O_RDWR|O_CREAT|O_CLOEXEC|O_NONBLOCK)` with mode 0600, `flock(LOCK_EX|LOCK_NB)`, `statx` of the
    /// file and of the whole path: a lock that others do not find there is `WouldBlock`.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FolderLock>>;
}

/// An open file; closed when the last handle is dropped. All places are absolute, so threads may share it.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Reads up to `buf.len()` bytes at `offset`; fewer where the system gives fewer, 0 at or past the end.
    ///
    /// Syscalls: `pread64`, again after `EINTR`.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills `buf` from `offset`, or fails with `UnexpectedEof` where the file ends before; `buf` is then unspecified.
    ///
    /// Syscalls: `pread64` until full.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut rest = buf;
        let mut offset = offset;
        while !rest.is_empty() {
            let read = self.read_at(rest, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            rest = rest.get_mut(read..).unwrap_or_default();
            offset += read as u64;
        }
        Ok(())
    }

    /// Says that these bytes are read soon, so that they can be on their way. Nothing rests on it, and it does not wait.
    ///
    /// Syscalls: `fadvise64` with `POSIX_FADV_WILLNEED`.
    fn expect_read(&self, _offset: u64, _bytes: u64) {}

    /// Writes all of `buf` at `offset`, growing the file (zeros between) where that lies past its end. Durable after the
    /// next good sync. After an error any part of it may have been written.
    ///
    /// Syscalls: `pwrite64` until all is written.
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Returned `Ok` ⇒ everything written to this file before the call is durable, with the length it needs. After an
    /// error the file is lost to this process: see the crash contract above.
    ///
    /// Syscalls: `fdatasync`.
    fn sync_data(&self) -> io::Result<()>;

    /// As [`Self::sync_data`], with times and permissions.
    ///
    /// Syscalls: `fsync`.
    fn sync_all(&self) -> io::Result<()>;

    /// Cuts the file, or lengthens it with zeros that take no space yet (so that writing them may still meet a full
    /// disk). Durable after the next good sync; a crash before leaves the old length or the new one.
    ///
    /// Syscalls: `ftruncate`.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// The file's length in bytes.
    ///
    /// Syscalls: `statx`.
    fn len(&self) -> io::Result<u64>;

    /// Returns `true` if the file holds no bytes.
    ///
    /// Syscalls: `statx`.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns this file's identity, whatever name it has now, if any.
    ///
    /// Syscalls: `statx`.
    fn identity(&self) -> io::Result<FileIdentity>;
}

/// A lock that is held as long as this value lives.
pub trait FolderLock: fmt::Debug + Send + Sync {}
