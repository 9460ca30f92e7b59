//! Files by a path from an open folder, wherever that folder has been moved to meanwhile.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstatvfs, mkdirat, openat, renameat, unlinkat};

use super::super::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode};
use super::file::{RealFile, RealLock};
use super::identity;

/// New files: read and written by their owner alone.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// New folders: entered by their owner alone.
const FOLDER_MODE: Mode = Mode::RWXU;
/// Flags that keep an opening from waiting for the other end of a pipe put in a file's place. They change nothing for regular files.
const UNWAITING: OFlags = OFlags::NONBLOCK.union(OFlags::CLOEXEC);
/// The flags with which a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A path from an open folder.
#[derive(Clone, Copy)]
pub(super) struct FolderPath<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) path: &'a Path,
}

impl FolderPath<'_> {
    pub(super) fn open(self, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let how = match mode {
            OpenMode::Read => OFlags::RDONLY,
            OpenMode::Write => OFlags::RDWR,
            OpenMode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        let file = self.file(how | UNWAITING).map_err(|error| match is_no_file(&error) {
            true => not_regular(),
            false => error,
        })?;
        if !identity::of_file(&file)?.is_regular_file {
            return Err(not_regular());
        }
        Ok(Arc::new(RealFile(file)))
    }

    fn file(self, flags: OFlags) -> io::Result<File> {
        loop {
            match openat(self.folder, self.path, flags, FILE_MODE) {
                Err(rustix::io::Errno::INTR) => {}
                opened => return Ok(File::from(opened?)),
            }
        }
    }

    pub(super) fn exists(self) -> io::Result<bool> {
        match identity::of_path(self.folder, self.path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) if is_no_file(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(super) fn list(self) -> io::Result<Vec<FolderEntry>> {
        let folder: OwnedFd = self.file(FOLDER)?.into();
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let is_folder = match entry.file_type() {
                FileType::Directory => true,
                FileType::Symlink | FileType::Unknown => {
                    let name = Path::new(OsStr::from_bytes(name.to_bytes()));
                    identity::of_path(folder.as_fd(), name).is_ok_and(|look| look.is_folder)
                }
                _ => false,
            };
            entries.push(FolderEntry { name: name.to_string_lossy().into_owned(), is_folder });
        }
        entries.sort();
        Ok(entries)
    }

    pub(super) fn create_folder(self) -> io::Result<()> {
        Ok(mkdirat(self.folder, self.path, FOLDER_MODE)?)
    }

    pub(super) fn rename(self, to: FolderPath<'_>) -> io::Result<()> {
        Ok(renameat(self.folder, self.path, to.folder, to.path)?)
    }

    pub(super) fn remove_file(self) -> io::Result<()> {
        Ok(unlinkat(self.folder, self.path, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(self) -> io::Result<()> {
        Ok(unlinkat(self.folder, self.path, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn sync_folder(self) -> io::Result<()> {
        self.file(OFlags::RDONLY | OFlags::CLOEXEC)?.sync_all()
    }

    pub(super) fn identity(self) -> io::Result<FileIdentity> {
        Ok(identity::of_path(self.folder, self.path)?.identity)
    }

    pub(super) fn mode(self) -> Option<u32> {
        Some(identity::of_path(self.folder, self.path).ok()?.permissions)
    }

    pub(super) fn free_bytes(self) -> Option<u64> {
        let system = fstatvfs(self.file(FOLDER).ok()?).ok()?;
        Some(system.f_bavail.saturating_mul(system.f_frsize))
    }

    /// Locks the file, which has to be the one that `named` leads others to.
    pub(super) fn lock(self, named: &Path) -> io::Result<Box<dyn FolderLock>> {
        let file = self.file(OFlags::RDWR | OFlags::CREATE | UNWAITING)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
            TryLockError::Error(error) => error,
        })?;
        // Someone may have replaced the file since it was opened, or the folder: its lock would then exclude nobody.
        let there = FolderPath { folder: CWD, path: named }.identity()?;
        if !identity::of_file(&file)?.identity.is_same_file(&there) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(RealLock { _file: file }))
    }
}

/// Returns `true` where the system says of a name that it leads to no file: to a socket, to a device that is not there, to a folder, or in a
/// circle.
fn is_no_file(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let no_file = [Errno::NXIO, Errno::NODEV, Errno::ISDIR, Errno::LOOP];
    no_file.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file; put the file back")
}

/// A folder that was opened once. Paths in it lead there, under whatever name it stands by now, and to no other folder.
#[derive(Debug)]
pub(super) struct RealFolder {
    handle: OwnedFd,
    /// The path at which it stood.
    named: PathBuf,
}

impl RealFolder {
    pub(super) fn open(place: FolderPath<'_>, named: &Path) -> io::Result<Self> {
        Ok(Self { handle: place.file(FOLDER)?.into(), named: named.to_owned() })
    }

    fn place<'a>(&'a self, path: &'a Path) -> io::Result<FolderPath<'a>> {
        let inner = path.strip_prefix(&self.named).ok();
        let inner = inner.filter(|inner| inner.components().all(|part| matches!(part, Component::Normal(_))));
        let inner = inner.ok_or_else(|| {
            let what = format!("{}: a path within {} expected", path.display(), self.named.display());
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
        let path = if inner.as_os_str().is_empty() { Path::new(".") } else { inner };
        Ok(FolderPath { folder: self.handle.as_fd(), path })
    }
}

impl Disk for RealFolder {
    fn within(&self, folder: &Path) -> io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(Self::open(self.place(folder)?, folder)?))
    }

    fn path_for_libraries(&self, path: &Path) -> PathBuf {
        let through = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
        let own = FolderPath { folder: self.handle.as_fd(), path: Path::new(".") }.identity();
        let there = FolderPath { folder: CWD, path: &through }.identity();
        let leads_there = own.is_ok_and(|own| there.is_ok_and(|there| own.is_same_file(&there)));
        match self.place(path) {
            Ok(place) if leads_there => through.join(place.path),
            _ => path.to_owned(),
        }
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        self.place(path)?.open(mode)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.place(path)?.exists()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        self.place(folder)?.list()
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.place(folder)?.create_folder()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.place(from)?.rename(self.place(to)?)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.place(path)?.remove_file()
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.place(folder)?.remove_folder()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.place(folder)?.sync_folder()
    }

    /// By the whole path, as others find it: a folder that was moved, or another one in its place, is noticed so.
    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.place(path)?;
        FolderPath { folder: CWD, path }.identity()
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.place(path).ok()?.mode()
    }

    fn free_bytes(&self, folder: &Path) -> Option<u64> {
        self.place(folder).ok()?.free_bytes()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FolderLock>> {
        self.place(path)?.lock(path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::RealDisk;
    use super::*;

    /// A folder under its name, moved away after it was opened, with a copy in its place.
    fn moved() -> (tempfile::TempDir, Arc<dyn Disk>, PathBuf, PathBuf) {
        let below = tempfile::tempdir().unwrap();
        let (named, away) = (below.path().join("main"), below.path().join("away"));
        for folder in [&named, &away] {
            RealDisk.create_folder(folder).unwrap();
            RealDisk.create_folder(&folder.join("segments")).unwrap();
            for file in ["one", "segments/two"] {
                let opened = RealDisk.open(&folder.join(file), OpenMode::CreateNew).unwrap();
                opened.write_all_at(file.as_bytes(), 0).unwrap();
            }
        }
        let disk = RealDisk.within(&named).unwrap();
        let elsewhere = below.path().join("elsewhere");
        RealDisk.rename(&named, &elsewhere).unwrap();
        RealDisk.rename(&away, &named).unwrap();
        (below, disk, named, elsewhere)
    }

    fn names(folder: &Path) -> Vec<String> {
        RealDisk.list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn the_free_bytes_are_those_of_the_file_system_of_a_folder() {
        let (_below, disk, named, elsewhere) = moved();
        let all = RealDisk.free_bytes(&elsewhere).unwrap();
        assert!(all > 0 && disk.free_bytes(&named.join("segments")).is_some());
        assert_eq!(RealDisk.free_bytes(&named.join("nothing")), None);
        assert_eq!(disk.free_bytes(&elsewhere), None, "it lies elsewhere");
    }

    #[test]
    fn every_change_is_made_in_the_folder_that_was_opened() {
        let (_below, disk, named, elsewhere) = moved();
        let before = (names(&named), names(&named.join("segments")));
        disk.remove_file(&named.join("segments/two")).unwrap();
        disk.rename(&named.join("one"), &named.join("segments/one")).unwrap();
        disk.create_folder(&named.join("tree")).unwrap();
        disk.open(&named.join("tree/three"), OpenMode::CreateNew).unwrap();
        disk.create_folder(&named.join("empty")).unwrap();
        disk.remove_folder(&named.join("empty")).unwrap();
        disk.open(&named.join("segments/one"), OpenMode::Write).unwrap().set_len(0).unwrap();
        disk.sync_folder(&named).unwrap();
        disk.within(&named.join("tree")).unwrap().remove_file(&named.join("tree/three")).unwrap();

        let library = disk.path_for_libraries(&named.join("segments"));
        RealDisk.open(&library.join("from-a-library"), OpenMode::CreateNew).unwrap();
        disk.remove_file(&named.join("segments/from-a-library")).unwrap();
        assert_eq!((names(&named), names(&named.join("segments"))), before);
        assert_eq!(RealDisk.open(&named.join("one"), OpenMode::Read).unwrap().len().unwrap(), 3);
        assert_eq!(names(&elsewhere), ["segments", "tree"]);
        assert_eq!(
            (names(&elsewhere.join("segments")), names(&elsewhere.join("tree"))),
            (vec!["one".to_owned()], vec![])
        );
        assert_eq!(disk.list(&named).unwrap(), RealDisk.list(&elsewhere).unwrap());
        assert!(disk.exists(&named.join("tree")).unwrap() && !disk.exists(&named.join("one")).unwrap());
    }

    #[test]
    fn whoever_asks_which_file_stands_under_a_path_hears_of_the_other_folder() {
        let (_below, disk, named, elsewhere) = moved();
        let path = named.join("segments/two");
        let (own, there) = (disk.open(&path, OpenMode::Read).unwrap(), disk.identity(&path).unwrap());
        assert!(!own.identity().unwrap().is_same_file(&there));
        let moved_to = RealDisk.identity(&elsewhere.join("segments/two")).unwrap();
        assert!(own.identity().unwrap().is_same_file(&moved_to));
    }

    #[test]
    fn no_lock_is_taken_in_a_folder_that_others_do_not_find() {
        let (_below, disk, named, elsewhere) = moved();
        let refused = disk.lock(&named.join("lock")).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        drop(RealDisk.lock(&named.join("lock")).unwrap());
        assert_eq!(disk.lock(&named.join("lock")).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        RealDisk.rename(&named, &named.with_file_name("aside")).unwrap();
        RealDisk.rename(&elsewhere, &named).unwrap();
        disk.lock(&named.join("lock")).unwrap();
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let (below, disk, named, _) = moved();
        let outside = below.path().join("outside");
        RealDisk.open(&outside, OpenMode::CreateNew).unwrap();
        for path in [
            outside.clone(),
            named.join("../outside"),
            named.join("segments/../../outside"),
            "outside".into(),
        ] {
            let refused = [
                disk.open(&path, OpenMode::Write).map(drop),
                disk.remove_file(&path),
                disk.rename(&named.join("one"), &path),
                disk.rename(&path, &named.join("one")),
                disk.create_folder(&path),
                disk.sync_folder(&path),
                disk.list(&path).map(drop),
                disk.exists(&path).map(drop),
                disk.identity(&path).map(drop),
                disk.lock(&path).map(drop),
                disk.within(&path).map(drop),
            ];
            for refused in refused {
                assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", path.display());
            }
            assert_eq!(disk.mode(&path), None);
        }
        assert!(RealDisk.exists(&outside).unwrap());
    }
}
