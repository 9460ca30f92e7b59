//! A disk in memory that behaves as the crash contract of `bitacora_ledger::Disk` allows, at its worst.
//!
//! Everything it does follows from the calls made and from seeds, so a run can be repeated. It keeps every operation ever done to it,
//! numbered. It can show the disk as it could be after a crash at any of those numbers ([`SimulatedDisk::crash_image`]); an image is a
//! whole disk again, with a history of its own.

#![expect(
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a mistake of the simulation must fail the test loudly; all sizes are of things in memory"
)]

mod content;
mod crash;
pub mod errno;
mod fault;
mod file;
mod handle;
mod hold;
mod machine;
mod names;
mod outside;
mod tree;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bitacora_ledger::{Disk, DiskFile, FileIdentity, FolderEntry, FolderLock, OpenMode};

pub use crash::CrashPolicy;
pub use fault::{DiskCall, DiskFault, Effect};
pub use hold::Hold;
pub use machine::{FalseSync, Operation};

use handle::{SimulatedFile, SimulatedLock};
use machine::SimulatedMachine;
use tree::{Mutation, NodeBody, ROOT, Tree, error};

const DEVICE: u64 = 1;

/// A disk in memory; clones are the same disk.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    machine: Arc<Mutex<SimulatedMachine>>,
    /// Told when a hold ends or a call begins to wait for one.
    holds_changed: Arc<Condvar>,
}

impl SimulatedDisk {
    /// An empty disk: only the folder `/`. The seed decides what [`Effect::Partly`] and short reads do.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::from_machine(SimulatedMachine::new(Tree::new(), None, seed))
    }

    fn from_machine(machine: SimulatedMachine) -> Self {
        Self { machine: Arc::new(Mutex::new(machine)), holds_changed: Arc::default() }
    }

    fn machine(&self) -> MutexGuard<'_, SimulatedMachine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of operations so far: the number of the last.
    #[must_use]
    pub fn operation_count(&self) -> u64 {
        self.machine().operation_count()
    }

    /// Returns the operations since the start, or since [`Self::forget_operations`].
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.machine().operations()
    }

    /// Gives back the memory that the history takes. No image can be had of what lies before; numbers go on.
    pub fn forget_operations(&self) {
        self.machine().forget_operations();
    }

    /// The disk as it may be after power is lost right after operation `at_operation` (0: before the first): honest,
    /// without faults, locks and open files, as full as this one is now. The seed matters to [`CrashPolicy::Random`].
    ///
    /// Cheapest in rising order of `at_operation`.
    pub fn crash_image(&self, at_operation: u64, policy: CrashPolicy, seed: u64) -> io::Result<Self> {
        Ok(Self::from_machine(self.machine().crash_image(at_operation, policy, seed)?))
    }

    /// The disk after the *process* ended right after that operation while the machine lived on: everything written
    /// can be read, what was not synced still is not, what a failed sync lost is still shown and still lost. It is as
    /// full, as read-only and as dishonest as this one is now.
    pub fn killed_image(&self, at_operation: u64) -> io::Result<Self> {
        let mut machine = self.machine();
        let seed = machine.random.clone().next_u64();
        Ok(Self::from_machine(machine.killed_image(at_operation, seed)?))
    }

    /// Arranges for a call to fail. Several may wait; each counts for itself.
    pub fn inject(&self, fault: DiskFault) {
        self.machine().faults.add(fault);
    }

    /// From now on nothing fails that was arranged.
    pub fn clear_faults(&self) {
        self.machine().faults.clear();
    }

    /// Returns the number of faults that have not struck yet, lasting ones aside: a test whose fault never struck has tested nothing.
    #[must_use]
    pub fn pending_faults(&self) -> usize {
        self.machine().faults.pending()
    }

    /// Returns the number of such calls so far, failures included.
    #[must_use]
    pub fn calls(&self, call: DiskCall) -> u64 {
        self.machine().calls.get(&call).copied().unwrap_or_default()
    }

    /// Makes the disk dishonest from now on, or honest again.
    pub fn set_false_sync(&self, which: FalseSync, is_false: bool) {
        let mut machine = self.machine();
        if is_false {
            machine.false_syncs.insert(which);
        } else {
            machine.false_syncs.remove(&which);
        }
    }

    /// Sets the disk's capacity, counted in whole pages of 4 KiB; `None` for no end. Bytes that are there stay, even if they are more.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.machine().capacity = bytes;
    }

    /// Returns the space that is taken, in whole pages: also by removed files that are still open; not by holes.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.machine().used_bytes()
    }

    /// From now on every change is refused (`EROFS`), or none.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.machine().is_read_only = is_read_only;
    }

    /// From now on reads give fewer bytes than asked for, as the seed has it, at least one; or not.
    pub fn set_short_reads(&self, has_short_reads: bool) {
        self.machine().has_short_reads = has_short_reads;
    }

    fn close(&self, inode: u64) {
        let mut machine = self.machine();
        if let Some(handles) = machine.open.get_mut(&inode) {
            *handles -= 1;
            if *handles == 0 {
                machine.open.remove(&inode);
            }
        }
    }

    fn unlock(&self, inode: u64) {
        self.machine().locked.remove(&inode);
    }
}

impl SimulatedMachine {
    fn identity(&self, inode: u64) -> io::Result<FileIdentity> {
        let bytes = match &self.tree.node(inode)?.body {
            NodeBody::File(file) => file.live().len(),
            NodeBody::Folder(_) => 0,
        };
        Ok(FileIdentity { device: DEVICE, inode, bytes })
    }

    fn create(&mut self, call: DiskCall, path: &Path) -> io::Result<()> {
        self.act(call, path, |machine| {
            let place = machine.tree.place(path)?;
            if machine.tree.at(&place)?.is_some() {
                return Err(error(errno::EEXIST));
            }
            let (folder, name) = place;
            let inode = machine.tree.next_inode();
            Ok(Mutation::Create { folder, name, inode, is_folder: call == DiskCall::CreateFolder })
        })
    }

    /// Checks a rename as `rename(2)` does.
    fn plan_rename(&self, from: &Path, to: &Path) -> io::Result<Mutation> {
        let tree = &self.tree;
        let (from, to) = (tree.place(from)?, tree.place(to)?);
        let moved = tree.at(&from)?.ok_or_else(|| error(errno::ENOENT))?;
        if tree.is_within(to.0, moved) {
            return Err(error(errno::EINVAL));
        }
        let Some(replaced) = tree.at(&to)? else {
            return Ok(Mutation::Rename { from, to });
        };
        if replaced == moved {
            return Ok(Mutation::Nothing);
        }
        match (tree.folder(moved), tree.folder(replaced)) {
            (Err(_), Err(_)) => Ok(Mutation::Rename { from, to }),
            (Err(_), Ok(_)) if tree.is_within(from.0, replaced) => Err(error(errno::ENOTEMPTY)),
            (Err(_), Ok(_)) => Err(error(errno::EISDIR)),
            (Ok(_), Err(_)) => Err(error(errno::ENOTDIR)),
            (Ok(_), Ok(replaced)) if replaced.live.is_empty() => Ok(Mutation::Rename { from, to }),
            (Ok(_), Ok(_)) => Err(error(errno::ENOTEMPTY)),
        }
    }

    fn handle(&mut self, disk: &SimulatedDisk, path: &Path, is_writable: bool) -> io::Result<SimulatedFile> {
        let inode = self.tree.find(path)?;
        *self.open.entry(inode).or_default() += 1;
        Ok(SimulatedFile { disk: disk.clone(), inode, path: path.to_owned(), is_writable })
    }
}

impl Disk for SimulatedDisk {
    /// The same disk: no folder of it is moved while it is used.
    fn within(&self, folder: &Path) -> io::Result<Arc<dyn Disk>> {
        let machine = self.machine();
        machine.tree.folder(machine.tree.find(folder)?)?;
        Ok(Arc::new(self.clone()))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let call = if mode == OpenMode::CreateNew { DiskCall::CreateNew } else { DiskCall::Open };
        let mut machine = self.enter(call);
        match mode {
            OpenMode::CreateNew => machine.create(call, path)?,
            OpenMode::Read | OpenMode::Write => {
                machine.observe(call, path)?;
                let inode = machine.tree.find(path)?;
                if machine.tree.file(inode).is_err() {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
                }
                if mode == OpenMode::Write && machine.is_read_only {
                    return Err(error(errno::EROFS));
                }
            }
        }
        Ok(Arc::new(machine.handle(self, path, mode != OpenMode::Read)?))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let mut machine = self.enter(DiskCall::Stat);
        machine.observe(DiskCall::Stat, path)?;
        match machine.tree.find(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        let mut machine = self.enter(DiskCall::List);
        machine.observe(DiskCall::List, folder)?;
        let names = &machine.tree.folder(machine.tree.find(folder)?)?.live;
        let mut entries: Vec<FolderEntry> = names
            .iter()
            .map(|(name, inode)| FolderEntry {
                name: name.to_string_lossy().into_owned(),
                is_folder: machine.tree.folder(*inode).is_ok(),
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.enter(DiskCall::CreateFolder).create(DiskCall::CreateFolder, folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.enter(DiskCall::Rename).act(DiskCall::Rename, from, |machine| machine.plan_rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.enter(DiskCall::RemoveFile).act(DiskCall::RemoveFile, path, |machine| {
            machine.tree.file(machine.tree.find(path)?)?;
            let (folder, name) = machine.tree.place(path)?;
            Ok(Mutation::Remove { folder, name })
        })
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.enter(DiskCall::RemoveFolder).act(DiskCall::RemoveFolder, folder, |machine| {
            let inode = machine.tree.find(folder)?;
            if inode == ROOT {
                return Err(error(errno::EBUSY));
            }
            if !machine.tree.folder(inode)?.live.is_empty() {
                return Err(error(errno::ENOTEMPTY));
            }
            let (folder, name) = machine.tree.place(folder)?;
            Ok(Mutation::Remove { folder, name })
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.enter(DiskCall::SyncFolder).act(DiskCall::SyncFolder, folder, |machine| {
            let inode = machine.tree.find(folder)?;
            machine.tree.folder(inode)?;
            Ok(Mutation::SyncFolder { folder: inode })
        })
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        let mut machine = self.enter(DiskCall::Stat);
        machine.observe(DiskCall::Stat, path)?;
        machine.identity(machine.tree.find(path)?)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        let mut machine = self.enter(DiskCall::Stat);
        machine.observe(DiskCall::Stat, path).ok()?;
        let inode = machine.tree.find(path).ok()?;
        Some(machine.tree.node(inode).ok()?.mode)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FolderLock>> {
        let mut machine = self.enter(DiskCall::Lock);
        machine.observe(DiskCall::Lock, path)?;
        match machine.tree.find(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                machine.create(DiskCall::CreateNew, path)?;
            }
            Err(error) => return Err(error),
            Ok(inode) => {
                machine.tree.file(inode)?;
                if machine.is_read_only {
                    return Err(error(errno::EROFS));
                }
            }
        }
        let inode = machine.tree.find(path)?;
        if !machine.locked.insert(inode) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let file = machine.handle(self, path, true)?;
        Ok(Box::new(SimulatedLock { file }))
    }
}
