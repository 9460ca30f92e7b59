//! Open files and locks of the machine's disk.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, fadvise};

use super::super::{DiskFile, FileIdentity, FolderLock};
use super::identity;

#[derive(Debug)]
pub(super) struct RealFile(pub(super) File);

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.0.read_at(buf, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn expect_read(&self, offset: u64, bytes: u64) {
        // A file system that takes no advice reads later.
        let _unheard = fadvise(&self.0, offset, NonZeroU64::new(bytes), Advice::WillNeed).is_err();
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(identity::of_file(&self.0)?.identity.bytes)
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity::of_file(&self.0)?.identity)
    }
}

/// The kernel lets go of the lock when the file is closed.
#[derive(Debug)]
pub(super) struct RealLock {
    pub(super) _file: File,
}

impl FolderLock for RealLock {}
