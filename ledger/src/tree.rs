//! The tree over all durable events: its levels in memory, the lowest of them in a file too.
//! It also knows the leaves that have to be made durable. Layout of the file: `docs/formats/levels.md`.

pub(crate) mod leaves;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::{
    Frontier, LEVELS_HEADER_BYTES, LeavesHeader, LedgerId, Levels, LevelsHeader, Position, SegmentEnd,
    SegmentHeader, SegmentNumber, TILE_WIDTH, TREE_HASH_BYTES, TreeHash,
};

use crate::host::disk::{Disk, OpenMode};
use crate::host::index_folder::make_folder;
use crate::host::lock_order::{LockRank, OrderedMutex, OrderedRwLock};
use crate::tree::leaves::{Count, EndedLeaves, TREE};

/// The reason for which a tree that lacks its first groups gives no proof.
const NOT_WHOLE: &str = "it is made from the leaves again by a ledger that is open for writing";

/// Segments whose leaves wait to be made again.
const MAX_LEAF_REPAIRS: usize = 64;

/// The file of the one level that is stored.
const LEVEL_1: &str = "level-1";

/// The tree of one ledger.
pub(crate) struct Tree {
    disk: Arc<dyn Disk>,
    ledger_folder: PathBuf,
    ledger: LedgerId,
    state: OrderedRwLock<State>,
    /// Leaves of ended segments that may not be durable yet.
    ended: OrderedMutex<Vec<EndedLeaves>>,
    /// Groups that the file holds for certain.
    stored: OrderedMutex<u64>,
}

struct State {
    groups: Groups,
    /// The tree at the durable head.
    durable: Frontier,
}

enum Groups {
    Whole(Levels),
    /// The first of them are to be made again from the leaves.
    Lacking {
        first: u64,
        then: Vec<TreeHash>,
    },
}

/// The values that the leaves of a group are compared with.
pub(crate) enum GroupCheck {
    /// The root of a whole group.
    Root(TreeHash),
    /// The size of the tree, and its peaks over the leaves after the last whole group.
    Peaks(u64, Vec<TreeHash>),
}

/// The part of the tree that an opening knows.
pub(crate) struct TreeGrowth {
    /// The tree where reading began.
    pub(crate) base: Frontier,
    /// The groups that were completed after that.
    pub(crate) groups: Vec<TreeHash>,
}

impl Tree {
    /// The tree of a ledger that was opened: what is before `growth.base` is taken from the file, if that is right.
    pub(crate) fn load(
        disk: Arc<dyn Disk>,
        ledger_folder: &Path,
        ledger: LedgerId,
        growth: TreeGrowth,
        durable: Frontier,
    ) -> Self {
        let first = growth.base.size() / TILE_WIDTH as u64;
        let read = read_levels(&*disk, &ledger_folder.join(TREE).join(LEVEL_1), ledger, first);
        let found = match read {
            Ok(levels) if levels.is_of(&growth.base) => Some(levels),
            Ok(_) => {
                tracing::warn!(
                    "the stored level of the tree is not that of the log; it is made again from the leaves"
                );
                None
            }
            Err(error) => {
                tracing::info!(%error, "the stored level of the tree cannot be read; it is made again from the leaves");
                None
            }
        };
        let (groups, stored) = match found {
            Some(mut levels) => {
                growth.groups.into_iter().for_each(|group| levels.push(group));
                (Groups::Whole(levels), first)
            }
            None => (Groups::Lacking { first, then: growth.groups }, 0),
        };
        let (state, ended) = (OrderedRwLock::new(State { groups, durable }), OrderedMutex::default());
        Self {
            disk,
            ledger_folder: ledger_folder.to_owned(),
            ledger,
            state,
            ended,
            stored: OrderedMutex::new(LockRank::StoredLevel, stored),
        }
    }

    /// The tree of one who only reads: as its files have it, or lacking. Another process may be writing them.
    pub(crate) fn of_reader(
        disk: Arc<dyn Disk>,
        ledger_folder: &Path,
        last: &SegmentHeader,
        end: &SegmentEnd,
    ) -> Self {
        let header =
            LeavesHeader { ledger: last.ledger, segment: last.number, first_position: last.first_position };
        let count = end.next_position.get().saturating_sub(last.first_position.get());
        let mut tree = last.frontier.clone();
        let growth =
            leaves::grow(&*disk, ledger_folder, &header, Count::AtLeast(count), &mut tree, || Ok(()));
        match growth {
            Ok(Some(groups)) if tree.root() == end.tree_root => {
                let growth = TreeGrowth { base: last.frontier.clone(), groups };
                Self::load(disk, ledger_folder, last.ledger, growth, tree)
            }
            _ => Self::lacking(disk, ledger_folder, last.ledger, end.tree_size),
        }
    }

    /// A tree of which nothing is known, and that nothing will be known of.
    fn lacking(disk: Arc<dyn Disk>, ledger_folder: &Path, ledger: LedgerId, size: u64) -> Self {
        let groups = Groups::Lacking { first: size / TILE_WIDTH as u64, then: Vec::new() };
        let (state, ended) =
            (OrderedRwLock::new(State { groups, durable: Frontier::new() }), OrderedMutex::default());
        Self {
            disk,
            ledger_folder: ledger_folder.to_owned(),
            ledger,
            state,
            ended,
            stored: OrderedMutex::new(LockRank::StoredLevel, 0),
        }
    }

    /// A frame is durable, its leaves are written: the tree after it, and the groups that it completed.
    pub(crate) fn publish(&self, completed: Vec<TreeHash>, durable: Frontier) {
        let mut state = self.state.write();
        match &mut state.groups {
            Groups::Whole(levels) => completed.into_iter().for_each(|group| levels.push(group)),
            Groups::Lacking { then, .. } => then.extend(completed),
        }
        state.durable = durable;
    }

    /// Hashes of a tile of a level from 1 on; `None` where not all of them are there yet.
    pub(crate) fn tile(
        &self,
        level: u32,
        index: u64,
        width: usize,
    ) -> Result<Option<Vec<TreeHash>>, &'static str> {
        self.levels(|levels| {
            let first = usize::try_from(index).ok()?.checked_mul(TILE_WIDTH)?;
            let end = first.checked_add(width).filter(|_| width > 0 && width <= TILE_WIDTH)?;
            levels.row(level).get(first..end).map(<[TreeHash]>::to_vec)
        })
    }

    /// The root of a complete subtree, at least as high as a group.
    pub(crate) fn subtree(&self, first: u64, height: u32) -> Result<Option<TreeHash>, &'static str> {
        self.levels(|levels| levels.subtree(first, height))
    }

    fn levels<T>(&self, read: impl FnOnce(&Levels) -> T) -> Result<T, &'static str> {
        match &self.state.read().groups {
            Groups::Whole(levels) => Ok(read(levels)),
            Groups::Lacking { .. } => Err(NOT_WHOLE),
        }
    }

    /// Returns the value that the leaves of a group have to give.
    pub(crate) fn check_of(&self, group: u64) -> Result<GroupCheck, &'static str> {
        let state = self.state.read();
        let Groups::Whole(levels) = &state.groups else {
            return Err(NOT_WHOLE);
        };
        let root = usize::try_from(group).ok().and_then(|group| levels.row(1).get(group));
        if let Some(root) = root {
            return Ok(GroupCheck::Root(*root));
        }
        let size = state.durable.size();
        if group != size / TILE_WIDTH as u64 {
            return Err("the group is not there yet");
        }
        let low = (size % TILE_WIDTH as u64).count_ones() as usize;
        let peaks = state.durable.peaks();
        let (_, low) = peaks.split_at_checked(peaks.len().saturating_sub(low)).unwrap_or_default();
        Ok(GroupCheck::Peaks(size, low.to_vec()))
    }

    /// Has the leaves of this segment made again at the next [`Self::settle`]; `false` where they are already to be, or too many are.
    pub(crate) fn repair_leaves(&self, number: SegmentNumber, first: Position) -> bool {
        let mut ended = self.ended.lock();
        let is_new = ended.len() < MAX_LEAF_REPAIRS && !ended.iter().any(|known| known.number == number);
        if is_new {
            ended.push(EndedLeaves { number, first, file: None });
        }
        is_new
    }

    /// Returns `true` if groups are to be made again from the leaves.
    pub(crate) fn is_lacking(&self) -> bool {
        let state = self.state.read();
        matches!(state.groups, Groups::Lacking { .. })
    }

    /// The groups that were lacking, made again; whether they are those of the log.
    pub(crate) fn complete(&self, made: Vec<TreeHash>) -> bool {
        let mut state = self.state.write();
        let Groups::Lacking { first, then } = &state.groups else { return true };
        if made.len() as u64 != *first {
            return false;
        }
        let levels = Levels::of_groups(made.into_iter().chain(then.iter().copied()));
        let is_right = levels.is_of(&state.durable);
        if is_right {
            state.groups = Groups::Whole(levels);
        }
        is_right
    }

    /// A segment ended. For the committer.
    pub(crate) fn segment_ended(&self, ended: EndedLeaves) {
        self.ended.lock().push(ended);
    }

    /// Makes durable what is known of ended segments. `make` gives a file of leaves as the log has them; `None` for a segment that was
    /// released. For the table writer's thread; what fails is tried again with the next one.
    pub(crate) fn settle(&self, make: &dyn Fn(&EndedLeaves) -> io::Result<Option<Vec<u8>>>) {
        let ended = std::mem::take(&mut *self.ended.lock());
        if ended.is_empty() && !self.has_unstored_groups() {
            return;
        }
        let mut left: Vec<EndedLeaves> = Vec::new();
        let mut ended = ended.into_iter();
        for leaves in ended.by_ref() {
            if let Err(error) = self.settle_leaves(&leaves, make) {
                let segment = leaves.number.0;
                tracing::warn!(segment, %error, "leaves of an ended segment could not be made durable; they are made again later");
                // A second sync of the same file would prove nothing.
                left.push(EndedLeaves { file: None, ..leaves });
                break;
            }
        }
        // Failed writes take their turn after the others, once for each segment that ends.
        left.splice(0..0, ended);
        let mut waiting = self.ended.lock();
        left.append(&mut waiting);
        // Beyond that they are left to the next opening.
        left.truncate(MAX_LEAF_REPAIRS);
        *waiting = left;
        drop(waiting);
        let folder = self.ledger_folder.join(TREE);
        if let Err(error) = self.store_groups().and_then(|()| self.disk.sync_folder(&folder)) {
            tracing::warn!(%error, "a level of the tree could not be stored; it is made again later");
        }
    }

    fn settle_leaves(
        &self,
        ended: &EndedLeaves,
        make: &dyn Fn(&EndedLeaves) -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        if let Some(file) = &ended.file {
            return file.sync_all();
        }
        match make(ended)? {
            Some(bytes) => leaves::settle(&*self.disk, &self.ledger_folder, ended.number, &bytes),
            None => Ok(()),
        }
    }

    /// Has the file hold the groups that there are, and nothing behind them, before an epoch begins: a file that ends earlier was cut
    /// since. Where the first groups are to be made again, they are stored once they are.
    ///
    /// Syscalls: those of `store_groups`; `ftruncate` and `fsync` where a loss was declared; `fsync` of the folder.
    pub(crate) fn store_at_opening(&self) {
        let stored = self.cut_behind().and_then(|()| self.store_groups());
        if let Err(error) = stored.and_then(|()| self.disk.sync_folder(&self.ledger_folder.join(TREE))) {
            tracing::warn!(%error, "a level of the tree could not be stored; it is made again later");
        }
    }

    /// Cuts off what a declared loss left behind the last group: other events complete those groups now.
    fn cut_behind(&self) -> io::Result<()> {
        let groups = match &self.state.read().groups {
            Groups::Whole(levels) => levels.groups(),
            Groups::Lacking { .. } => return Ok(()),
        };
        let path = self.ledger_folder.join(TREE).join(LEVEL_1);
        let file = match self.disk.open(&path, OpenMode::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let end = LevelsHeader::offset_of(groups);
        if file.len()? <= end {
            return Ok(());
        }
        file.set_len(end)?;
        file.sync_all()
    }

    fn has_unstored_groups(&self) -> bool {
        let (stored, state) = (self.stored.lock(), self.state.read());
        let Groups::Whole(levels) = &state.groups else { return false };
        levels.groups() > *stored
    }

    /// Appends to the file what is new.
    ///
    /// Returned `Ok` ⇒ synced. A crash before may leave any bytes behind what the file held; they are not believed.
    ///
    /// Syscalls: `openat`, `pwrite64`, `fsync`.
    fn store_groups(&self) -> io::Result<()> {
        let mut stored = self.stored.lock();
        let mut bytes = Vec::new();
        let groups = {
            let state = self.state.read();
            let Groups::Whole(levels) = &state.groups else { return Ok(()) };
            let known = usize::try_from(*stored).unwrap_or(usize::MAX);
            for group in levels.row(1).get(known..).unwrap_or_default() {
                bytes.extend_from_slice(&group.0);
            }
            levels.groups()
        };
        if bytes.is_empty() {
            return Ok(());
        }
        let folder = self.ledger_folder.join(TREE);
        make_folder(&*self.disk, &folder)?;
        let path = folder.join(LEVEL_1);
        let file = match self.disk.open(&path, OpenMode::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.disk.open(&path, OpenMode::CreateNew)?
            }
            opened => opened?,
        };
        if *stored == 0 {
            file.write_all_at(&LevelsHeader { ledger: self.ledger }.encode(), 0)?;
        }
        file.write_all_at(&bytes, LevelsHeader::offset_of(*stored))?;
        file.sync_all()?;
        *stored = groups;
        Ok(())
    }
}

/// The levels over the first `groups` groups of the file.
fn read_levels(disk: &dyn Disk, path: &Path, ledger: LedgerId, groups: u64) -> io::Result<Levels> {
    if groups == 0 {
        return Ok(Levels::default());
    }
    let file = disk.open(path, OpenMode::Read)?;
    let needed = LevelsHeader::offset_of(groups);
    if file.len()? < needed {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = vec![0; usize::try_from(needed).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, 0)?;
    let (header, hashes) = bytes.split_at_checked(LEVELS_HEADER_BYTES).unwrap_or_default();
    let header = LevelsHeader::parse(header).map_err(io::Error::other)?;
    if header.ledger != ledger {
        return Err(io::Error::other("it is another ledger's"));
    }
    Ok(Levels::of_groups(LevelsHeader::hashes(hashes)))
}

const _: () = assert!(TREE_HASH_BYTES == LEVELS_HEADER_BYTES);
