//! The state behind one simulated disk: its tree, its history, and its arranged faults.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::PAGE_BYTES;
use super::crash::CrashPolicy;
use super::errno;
use super::fault::{DiskCall, DiskFailure, Effect, Faults};
use super::tree::{Mutation, Tree, error};
use crate::seeded::SeededRandom;

/// One numbered step of a disk's history: a call that changed something or could have, or an act from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Counted from 1; a crash image at this number has seen it, one at the number before has not.
    pub number: u64,
    /// The call.
    pub call: DiskCall,
    /// On what; for an open file the path it was opened by.
    pub path: PathBuf,
    /// For writes and `set_len`, the offset or new length.
    pub offset: u64,
    /// For writes, how many bytes.
    pub bytes: u64,
    /// The error that the caller got, if not OK.
    pub error: Option<io::ErrorKind>,
}

/// The ways in which the disk itself is dishonest: a seeded bug in the program would look so from below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FalseSync {
    /// `sync_data` and `sync_all` say OK and do nothing.
    File,
    /// `sync_folder` says OK and does nothing.
    Folder,
}

#[derive(Debug)]
pub(super) struct SimulatedMachine {
    pub(super) tree: Tree,
    /// The tree before `steps`.
    base: Tree,
    /// The number of operations `base` has seen.
    base_operations: u64,
    steps: Vec<(Operation, Mutation)>,
    /// The tree at some operation, so that images taken in rising order do not start over.
    cursor: Option<(u64, Tree)>,
    pub(super) faults: Faults,
    pub(super) calls: BTreeMap<DiskCall, u64>,
    pub(super) false_syncs: BTreeSet<FalseSync>,
    pub(super) capacity: Option<u64>,
    pub(super) is_read_only: bool,
    pub(super) has_short_reads: bool,
    pub(super) locked: BTreeSet<u64>,
    /// The number of open handles, by file.
    pub(super) open: BTreeMap<u64, u64>,
    /// The number of holds on each kind of call, and of the calls that wait for their end.
    pub(super) held: BTreeMap<DiskCall, u64>,
    pub(super) waiting: BTreeMap<DiskCall, u64>,
    pub(super) random: SeededRandom,
}

impl SimulatedMachine {
    pub(super) fn new(tree: Tree, capacity: Option<u64>, seed: u64) -> Self {
        Self {
            base: tree.clone(),
            tree,
            base_operations: 0,
            steps: Vec::new(),
            cursor: None,
            faults: Faults::default(),
            calls: BTreeMap::new(),
            false_syncs: BTreeSet::new(),
            capacity,
            is_read_only: false,
            has_short_reads: false,
            locked: BTreeSet::new(),
            open: BTreeMap::new(),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            random: SeededRandom::new(seed),
        }
    }

    /// Counts a call and tells what it must suffer.
    pub(super) fn count(&mut self, call: DiskCall, path: &Path) -> Option<DiskFailure> {
        *self.calls.entry(call).or_default() += 1;
        self.faults.strike(call, path)
    }

    /// For calls that change nothing: fails if it was arranged.
    pub(super) fn observe(&mut self, call: DiskCall, path: &Path) -> io::Result<()> {
        self.count(call, path).map_or(Ok(()), |failure| Err(error(failure.errno)))
    }

    /// For calls that change something: counts, fails as arranged, else takes the step that `plan` makes of the tree.
    pub(super) fn act(
        &mut self,
        call: DiskCall,
        path: &Path,
        plan: impl FnOnce(&Self) -> io::Result<Mutation>,
    ) -> io::Result<()> {
        let failure = self.count(call, path);
        if let Some(DiskFailure { errno, effect: Effect::Without }) = failure
            && !matches!(call, DiskCall::SyncData | DiskCall::SyncAll | DiskCall::SyncFolder)
        {
            self.take(call, path, Mutation::Nothing, Some(errno));
            return Err(error(errno));
        }
        if self.is_read_only && !matches!(call, DiskCall::SyncData | DiskCall::SyncAll | DiskCall::SyncFolder)
        {
            return Err(error(errno::EROFS));
        }
        let mutation = plan(self)?;
        let mutation = match failure {
            Some(DiskFailure { effect: Effect::Without, .. }) => without_effect(&mutation),
            Some(DiskFailure { effect: Effect::Partly, .. }) => self.partly(mutation),
            Some(DiskFailure { effect: Effect::With, .. }) | None => mutation,
        };
        let (mutation, lack) = self.within_capacity(mutation);
        let mutation = self.believed(mutation);
        let errno = failure.map(|failure| failure.errno).or(lack);
        self.take(call, path, mutation, errno);
        errno.map_or(Ok(()), |errno| Err(error(errno)))
    }

    /// Takes a step and writes it down.
    pub(super) fn take(&mut self, call: DiskCall, path: &Path, mutation: Mutation, errno: Option<i32>) {
        let (offset, bytes) = match &mutation {
            Mutation::Write { offset, data, .. } => (*offset, data.len() as u64),
            Mutation::SetLen { bytes, .. } => (*bytes, 0),
            Mutation::FlipBit { offset, .. } => (*offset, 1),
            _ => (0, 0),
        };
        self.tree.apply(&mutation);
        let operation = Operation {
            number: self.operation_count() + 1,
            call,
            path: path.to_owned(),
            offset,
            bytes,
            error: errno.map(|errno| error(errno).kind()),
        };
        self.steps.push((operation, mutation));
    }

    pub(super) fn operation_count(&self) -> u64 {
        self.base_operations + self.steps.len() as u64
    }

    pub(super) fn operations(&self) -> Vec<Operation> {
        self.steps.iter().map(|(operation, _)| operation.clone()).collect()
    }

    pub(super) fn forget_operations(&mut self) {
        self.base_operations = self.operation_count();
        self.base = self.tree.clone();
        self.steps.clear();
        self.cursor = None;
    }

    /// The tree right after this operation, page cache and all.
    pub(super) fn tree_at(&mut self, operation: u64) -> io::Result<&Tree> {
        if operation == self.operation_count() {
            return Ok(&self.tree);
        }
        let wanted =
            operation.checked_sub(self.base_operations).filter(|steps| *steps < self.steps.len() as u64);
        let Some(wanted) = wanted else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "no operation {operation} is recorded, only {} to {}",
                    self.base_operations,
                    self.operation_count()
                ),
            ));
        };
        let (done, mut tree) = match self.cursor.take() {
            Some((at, tree)) if at <= operation => (at - self.base_operations, tree),
            _ => (0, self.base.clone()),
        };
        for (_, mutation) in &self.steps[done as usize..wanted as usize] {
            tree.apply(mutation);
        }
        Ok(&self.cursor.insert((operation, tree)).1)
    }

    pub(super) fn crash_image(&mut self, operation: u64, policy: CrashPolicy, seed: u64) -> io::Result<Self> {
        let tree = self.tree_at(operation)?.crashed(policy, seed);
        Ok(Self::new(tree, self.capacity, seed))
    }

    pub(super) fn killed_image(&mut self, operation: u64, seed: u64) -> io::Result<Self> {
        let tree = self.tree_at(operation)?.clone();
        let false_syncs = self.false_syncs.clone();
        Ok(Self { false_syncs, is_read_only: self.is_read_only, ..Self::new(tree, self.capacity, seed) })
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.tree.pages(|inode| self.open.contains_key(&inode)) * PAGE_BYTES
    }

    fn free_pages(&self) -> u64 {
        self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used_bytes()) / PAGE_BYTES)
    }

    fn partly(&mut self, mutation: Mutation) -> Mutation {
        match mutation {
            Mutation::Write { inode, data, offset } => {
                let half = data.len() / 2;
                beginning_of_write(inode, &data, offset, half)
            }
            Mutation::Sync { inode } => {
                Mutation::SyncFailing { inode, arriving: Some(self.random.next_u64()) }
            }
            other => without_effect(&other),
        }
    }

    /// A lying disk says that it has synced, and has not.
    fn believed(&self, mutation: Mutation) -> Mutation {
        match mutation {
            Mutation::Sync { .. } | Mutation::SyncFailing { .. }
                if self.false_syncs.contains(&FalseSync::File) =>
            {
                Mutation::Nothing
            }
            Mutation::SyncFolder { .. } | Mutation::SyncFolderFailing { .. }
                if self.false_syncs.contains(&FalseSync::Folder) =>
            {
                Mutation::Nothing
            }
            other => other,
        }
    }

    /// Cuts a write where the disk is full. A new name needs a page to be free, and takes none.
    fn within_capacity(&self, mutation: Mutation) -> (Mutation, Option<i32>) {
        if self.capacity.is_none() {
            return (mutation, None);
        }
        match mutation {
            Mutation::Create { .. } if self.free_pages() == 0 => (Mutation::Nothing, Some(errno::ENOSPC)),
            Mutation::Write { inode, data, offset } => {
                let fitting = self.fitting_bytes(inode, offset, data.len() as u64) as usize;
                if fitting == data.len() {
                    return (Mutation::Write { inode, data, offset }, None);
                }
                (beginning_of_write(inode, &data, offset, fitting), Some(errno::ENOSPC))
            }
            other => (other, None),
        }
    }

    /// Returns the number of bytes of a write that find space.
    fn fitting_bytes(&self, inode: u64, offset: u64, bytes: u64) -> u64 {
        let mut free = self.free_pages();
        let has_page = |page| self.tree.file(inode).is_ok_and(|file| file.live().has_page(page));
        for page in offset / PAGE_BYTES..(offset + bytes).div_ceil(PAGE_BYTES) {
            if has_page(page) {
                continue;
            }
            if free == 0 {
                return (page * PAGE_BYTES).saturating_sub(offset);
            }
            free -= 1;
        }
        bytes
    }
}

fn without_effect(mutation: &Mutation) -> Mutation {
    match mutation {
        Mutation::Sync { inode } => Mutation::SyncFailing { inode: *inode, arriving: None },
        Mutation::SyncFolder { folder } => Mutation::SyncFolderFailing { folder: *folder },
        _ => Mutation::Nothing,
    }
}

/// A write of nothing is no write: it does not lengthen the file.
fn beginning_of_write(inode: u64, data: &[u8], offset: u64, bytes: usize) -> Mutation {
    match &data[..bytes] {
        [] => Mutation::Nothing,
        beginning => Mutation::Write { inode, data: Arc::from(beginning), offset },
    }
}
