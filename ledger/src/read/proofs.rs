//! The reader of the tree: leaves, tiles of any level, and proofs.
//! Nothing is decrypted, and nothing leaves that was not compared with the tree at the durable head.

use std::io;

use bitacora_formats::{
    Frontier, LEAF_ENTRY_BYTES, LeafEntry, LeavesHeader, Position, TILE_HEIGHT, TILE_WIDTH, TreeHash,
    fold_complete, prove_consistency, prove_inclusion, root_of,
};

use crate::host::disk::OpenMode;
use crate::read::leaf_repair;
use crate::read::log_reader::LogReader;
use crate::read_error::ReadError;
use crate::segments::Segment;
use crate::segments::recent_frames::OpenFrame;
use crate::shared_state::SharedState;
use crate::tree::GroupCheck;
use crate::tree::leaves::{TREE, leaves_file_name};

/// Leaves of a group.
const GROUP: u64 = TILE_WIDTH as u64;

/// That an event is in the tree of the first `size` events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The event's position; its leaf is the one before, counted from 0.
    pub position: Position,
    /// The size of the tree.
    pub size: u64,
    /// The content that the leaf is made from.
    pub leaf: LeafEntry,
    /// The root of that tree.
    pub root: TreeHash,
    /// RFC 9162, 2.1.3.
    pub hashes: Vec<TreeHash>,
}

/// That the tree of the first `to` events begins with that of the first `from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyProof {
    /// The size of the earlier tree.
    pub from: u64,
    /// The size of the later tree.
    pub to: u64,
    /// The root of the earlier tree.
    pub old_root: TreeHash,
    /// The root of the later tree.
    pub new_root: TreeHash,
    /// RFC 9162, 2.1.4.
    pub hashes: Vec<TreeHash>,
}

/// A reader of one ledger's tree. Blocks on the disk.
pub(crate) struct TreeReader<'a> {
    shared: &'a SharedState,
    /// Durable events, when it was made.
    head: Position,
    /// The groups that were read last: a proof needs at most one for each end of its ranges.
    groups: Vec<(u64, Vec<LeafEntry>, Vec<TreeHash>)>,
}

impl<'a> TreeReader<'a> {
    pub(crate) fn new(shared: &'a SharedState) -> Self {
        Self { shared, head: shared.read.head().position, groups: Vec::new() }
    }

    /// The leaves of a group of [`TILE_WIDTH`], as far as they are durable.
    pub(crate) fn leaves(mut self, group: u64, width: usize) -> Result<Vec<LeafEntry>, ReadError> {
        self.check_reach(group, width)?;
        let (entries, _) = self.group(group)?;
        Ok(entries.get(..width).unwrap_or_default().to_vec())
    }

    /// Hashes of a tile in the C2SP tlog-tiles layout: the first `width` of those at `level` from `index` × 256 on.
    pub(crate) fn tile(mut self, level: u32, index: u64, width: usize) -> Result<Vec<TreeHash>, ReadError> {
        if level > 0 {
            let tile = self.shared.read.tree.tile(level, index, width).map_err(tree_behind)?;
            return tile.ok_or_else(|| self.past_head(index, width, level));
        }
        self.check_reach(index, width)?;
        let (_, hashes) = self.group(index)?;
        Ok(hashes.get(..width).unwrap_or_default().to_vec())
    }

    pub(crate) fn inclusion(mut self, position: Position, size: u64) -> Result<InclusionProof, ReadError> {
        self.check_size(size.max(position.get()))?;
        let index = position.get() - 1;
        let hashes = prove_inclusion(index, size, |first, height| self.subtree(first, height))?;
        let hashes = hashes.ok_or(ReadError::PastHead { asked: position, head: self.place(size) })?;
        let root = root_of(size, |first, height| self.subtree(first, height))?;
        let (entries, _) = self.group(index / GROUP)?;
        let at = usize::try_from(index % GROUP).unwrap_or(usize::MAX);
        let leaf = *entries.get(at).ok_or_else(|| tree_behind("a leaf is missing"))?;
        Ok(InclusionProof { position, size, leaf, root, hashes })
    }

    /// `from` is at most `to`.
    pub(crate) fn consistency(mut self, from: u64, to: u64) -> Result<ConsistencyProof, ReadError> {
        self.check_size(to.max(from))?;
        let hashes = prove_consistency(from, to, |first, height| self.subtree(first, height))?;
        let hashes = hashes.ok_or(ReadError::PastHead { asked: self.place(from), head: self.place(to) })?;
        let old_root = root_of(from, |first, height| self.subtree(first, height))?;
        let new_root = root_of(to, |first, height| self.subtree(first, height))?;
        Ok(ConsistencyProof { from, to, old_root, new_root, hashes })
    }

    /// The root over the first `size` events.
    pub(crate) fn root(mut self, size: u64) -> Result<TreeHash, ReadError> {
        self.check_size(size)?;
        root_of(size, |first, height| self.subtree(first, height))
    }

    fn check_size(&self, size: u64) -> Result<(), ReadError> {
        if size <= self.head.get() {
            return Ok(());
        }
        Err(self.shared.past_head(self.place(size), self.head))
    }

    fn check_reach(&self, group: u64, width: usize) -> Result<(), ReadError> {
        let end = group.checked_mul(GROUP).and_then(|first| first.checked_add(width as u64));
        let is_there = width > 0 && width <= TILE_WIDTH && end.is_some_and(|end| end <= self.head.get());
        if is_there { Ok(()) } else { Err(self.past_head(group, width, 0)) }
    }

    /// The last event that a tile would be made of.
    fn past_head(&self, index: u64, width: usize, level: u32) -> ReadError {
        let hashes = index.saturating_mul(GROUP).saturating_add(width as u64);
        let leaves = 1_u64.checked_shl(level.saturating_mul(TILE_HEIGHT)).unwrap_or(u64::MAX);
        self.shared.past_head(self.place(hashes.saturating_mul(leaves)), self.head)
    }

    fn place(&self, size: u64) -> Position {
        Position::new(size).unwrap_or(Position::FIRST)
    }

    /// The root of a complete subtree of durable leaves.
    fn subtree(&mut self, first: u64, height: u32) -> Result<TreeHash, ReadError> {
        if height >= TILE_HEIGHT {
            let root = self.shared.read.tree.subtree(first, height).map_err(tree_behind)?;
            return root.ok_or_else(|| tree_behind("a subtree is missing"));
        }
        let from = usize::try_from(first % GROUP).unwrap_or(usize::MAX);
        let (_, hashes) = self.group(first / GROUP)?;
        let part = hashes.get(from..from.saturating_add(1 << height));
        part.and_then(fold_complete).ok_or_else(|| tree_behind("a leaf is missing"))
    }

    /// The durable leaves of a group and their hashes, compared with the tree.
    fn group(&mut self, group: u64) -> Result<(&[LeafEntry], &[TreeHash]), ReadError> {
        if !self.groups.iter().any(|(known, ..)| *known == group) {
            let (entries, hashes) = self.read_group(group)?;
            self.groups.push((group, entries, hashes));
        }
        let found = self.groups.iter().find(|(known, ..)| *known == group);
        Ok(found.map_or((&[], &[]), |(_, entries, hashes)| (entries.as_slice(), hashes.as_slice())))
    }

    fn read_group(&self, group: u64) -> Result<(Vec<LeafEntry>, Vec<TreeHash>), ReadError> {
        let check = self.shared.read.tree.check_of(group).map_err(tree_behind)?;
        let first = Position::new(group.saturating_mul(GROUP).saturating_add(1)).unwrap_or(Position::FIRST);
        let count = match &check {
            GroupCheck::Root(_) => GROUP,
            GroupCheck::Peaks(size, _) => size % GROUP,
        };
        let mut entries = Vec::with_capacity(TILE_WIDTH);
        self.read_entries(first, count, &mut entries)?;
        let hashes: Vec<_> = (first.get()..)
            .zip(&entries)
            .filter_map(|(at, entry)| Position::new(at).map(|at| entry.hash(at)))
            .collect();
        let is_right = match &check {
            GroupCheck::Root(root) => fold_complete(&hashes).as_ref() == Some(root),
            GroupCheck::Peaks(_, peaks) => {
                let mut tree = Frontier::new();
                hashes.iter().for_each(|hash| tree.push(*hash));
                tree.peaks() == peaks
            }
        };
        if is_right { Ok((entries, hashes)) } else { Err(self.differs(first)) }
    }

    /// Reads so many entries, which are durable, from the files of their segments.
    fn read_entries(&self, first: Position, count: u64, into: &mut Vec<LeafEntry>) -> Result<(), ReadError> {
        let end = first.get().saturating_add(count);
        let mut at = first;
        while at.get() < end {
            let segments = &self.shared.read.segments;
            let segment = segments.holding(at).ok_or_else(|| tree_behind("a segment is missing"))?;
            let next = segments.after(&segment).map_or(end, |next| next.first.get().min(end));
            if segment.is_archived() {
                at = self.make_entries(at, next, into)?;
                continue;
            }
            let path = self.shared.folder.join(TREE).join(leaves_file_name(segment.number));
            let header = LeavesHeader {
                ledger: self.shared.id,
                segment: segment.number,
                first_position: segment.first,
            };
            let length = usize::try_from(next.saturating_sub(at.get())).unwrap_or(0).min(TILE_WIDTH);
            let mut bytes = vec![0; length * LEAF_ENTRY_BYTES];
            let offset = header.offset_of(at).unwrap_or(u64::MAX);
            let file = self.shared.environment.disk.open(&path, OpenMode::Read);
            let read = file.and_then(|file| file.read_exact_at(&mut bytes, offset));
            read.map_err(|error| self.unreadable(&segment, &error))?;
            into.extend(LeafEntry::all(&bytes));
            at = at.plus(length as u64).filter(|_| length > 0).ok_or_else(|| tree_behind("no leaves"))?;
        }
        Ok(())
    }

    /// Makes the entries from `first` up to the one before `end` of their records, which lie in archives; `end`.
    fn make_entries(
        &self,
        first: Position,
        end: u64,
        into: &mut Vec<LeafEntry>,
    ) -> Result<Position, ReadError> {
        let past_end = || tree_behind("positions run out");
        let end = Position::new(end).filter(|end| *end > first).ok_or_else(past_end)?;
        let keys = self.shared.write.preparer.keys();
        let mut reader = LogReader::new(self.shared);
        let mut at = first;
        while at < end {
            let frame = reader.frame_with(at)?;
            let header = &frame.place.header;
            let skipped = usize::try_from(at.get() - header.first_position.get()).unwrap_or(usize::MAX);
            let wanted = usize::try_from(end.get() - at.get()).unwrap_or(usize::MAX);
            for entry in reader.decode(&frame)?.entries().skip(skipped).take(wanted) {
                let record = reader.record(&frame, entry)?;
                let commitment = keys.commitment_of(&record, entry.record);
                into.push(LeafEntry { time: header.time, commitment });
            }
            at = header.last_position().next().ok_or_else(past_end)?;
        }
        Ok(end)
    }

    /// Leaves that are missing are made again; what the disk refuses to read may be there all the same.
    fn unreadable(&self, segment: &Segment, error: &io::Error) -> ReadError {
        let file = format!("{TREE}/{}", leaves_file_name(segment.number));
        if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) {
            leaf_repair::request(self.shared, segment.number, segment.first);
            return tree_behind(format!("{file} lacks leaves"));
        }
        ReadError::Disk { file, what: error.to_string() }
    }

    /// Leaves on the disk that the tree does not have: they are made again.
    fn differs(&self, first: Position) -> ReadError {
        let mut at = Some(first);
        while let Some(segment) = at.and_then(|at| self.shared.read.segments.holding(at)) {
            leaf_repair::request(self.shared, segment.number, segment.first);
            let next = self.shared.read.segments.after(&segment).map(|next| next.first);
            at = next.filter(|next| next.get() < first.get().saturating_add(GROUP));
        }
        tree_behind("the leaves beside a segment are not those of its events")
    }
}

/// The root over all events up to the end of a frame.
pub(crate) fn root_after(shared: &SharedState, frame: &OpenFrame) -> Result<TreeHash, ReadError> {
    let header = &frame.place.header;
    match header.links {
        Some(links) => Ok(links.tree_root),
        None => TreeReader::new(shared).root(header.last_position().get()),
    }
}

fn tree_behind(what: impl Into<String>) -> ReadError {
    ReadError::TreeBehind(what.into())
}
