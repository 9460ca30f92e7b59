//! The handles of open files and locks, which lead back to their disk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bitacora_ledger::{DiskFile, FileIdentity, FolderLock};

use super::SimulatedDisk;
use super::errno;
use super::fault::{DiskCall, Effect};
use super::tree::{Mutation, error};

/// Like the kernel, refuses places past the greatest signed number.
const MAX_FILE_BYTES: u64 = i64::MAX as u64;

#[derive(Debug)]
pub(super) struct SimulatedFile {
    pub(super) disk: SimulatedDisk,
    pub(super) inode: u64,
    /// As it was opened.
    pub(super) path: PathBuf,
    pub(super) is_writable: bool,
}

impl SimulatedFile {
    fn sync(&self, call: DiskCall) -> io::Result<()> {
        let mut machine = self.disk.enter(call);
        machine.act(call, &self.path, |machine| match machine.tree.folder(self.inode) {
            Ok(_) => Ok(Mutation::SyncFolder { folder: self.inode }),
            Err(_) => Ok(Mutation::Sync { inode: self.inode }),
        })
    }
}

impl DiskFile for SimulatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut machine = self.disk.enter(DiskCall::Read);
        let failure = machine.count(DiskCall::Read, &self.path);
        if let Some(failure) = failure
            && failure.effect == Effect::Without
        {
            return Err(error(failure.errno));
        }
        let mut wanted = buf.len();
        if machine.has_short_reads && wanted > 1 {
            wanted = 1 + machine.random.index(wanted);
        }
        let read = machine.tree.file(self.inode)?.live().read(&mut buf[..wanted], offset);
        failure.map_or(Ok(read), |failure| Err(error(failure.errno)))
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let mut machine = self.disk.enter(DiskCall::Write);
        machine.act(DiskCall::Write, &self.path, |_| {
            if !self.is_writable {
                return Err(error(errno::EBADF));
            }
            if offset.checked_add(buf.len() as u64).is_none_or(|end| end > MAX_FILE_BYTES) {
                return Err(error(errno::EINVAL));
            }
            Ok(Mutation::Write { inode: self.inode, data: Arc::from(buf), offset })
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync(DiskCall::SyncData)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync(DiskCall::SyncAll)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut machine = self.disk.enter(DiskCall::SetLen);
        machine.act(DiskCall::SetLen, &self.path, |_| {
            if !self.is_writable || bytes > MAX_FILE_BYTES {
                return Err(error(errno::EINVAL));
            }
            Ok(Mutation::SetLen { inode: self.inode, bytes })
        })
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.identity()?.bytes)
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        let mut machine = self.disk.enter(DiskCall::Stat);
        machine.observe(DiskCall::Stat, &self.path)?;
        machine.identity(self.inode)
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.disk.close(self.inode);
    }
}

/// Gives the lock back when dropped.
#[derive(Debug)]
pub(super) struct SimulatedLock {
    /// Keeps the lock file open.
    pub(super) file: SimulatedFile,
}

impl FolderLock for SimulatedLock {}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.file.disk.unlock(self.file.inode);
    }
}
