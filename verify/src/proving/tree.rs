//! The inclusion proof of one event in the tree of a signed head.

use std::io::Read;
use std::os::unix::fs::FileExt;

use bitacora_formats::{
    LEAF_ENTRY_BYTES, LEAVES_HEADER_BYTES, LEVELS_HEADER_BYTES, LeafEntry, LeavesHeader, Levels,
    LevelsHeader, Position, SegmentHeader, TILE_HEIGHT, TILE_WIDTH, TreeHash, TreeHead, fold_complete,
    is_all_zeros, prove_inclusion, verify_inclusion,
};

use super::entry::EntryError;
use super::event_reader::EventReader;

/// The number of leaves in a group.
const GROUP: u64 = TILE_WIDTH as u64;

/// The proof that an event is in the tree of a head.
pub(super) struct InclusionProof {
    /// The content that the leaf is made from.
    pub(super) leaf: LeafEntry,
    /// The hashes from the leaf to the root (RFC 9162, 2.1.3).
    pub(super) hashes: Vec<TreeHash>,
}

/// The sources of a tree's leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeafSource {
    /// The files beside the segments, and the records where a file lacks leaves.
    Stored,
    /// The records alone.
    Records,
}

/// The tree over the first events of a ledger, read from its folder.
struct ProofTree<'a, 'b> {
    events: &'a mut EventReader<'b>,
    source: LeafSource,
    size: u64,
    /// The roots of the complete groups.
    levels: Levels,
    /// The groups that were read last: a proof needs at most one at each end of its ranges.
    groups: Vec<(u64, Vec<LeafEntry>)>,
}

/// Proves that the event at `position` is in the tree of this head, which covers it.
///
/// The files of the tree are only a shortcut. A proof from them that does not lead to the signed root is made again
/// from the records.
pub(super) fn prove(
    events: &mut EventReader<'_>,
    position: Position,
    head: &TreeHead,
) -> Result<InclusionProof, EntryError> {
    let stored = ProofTree::read(events, LeafSource::Stored, head.size);
    let stored = stored.and_then(|mut tree| tree.prove(position));
    if let Ok(proof) = stored.and_then(|proof| proof.check(position, head)) {
        return Ok(proof);
    }
    ProofTree::read(events, LeafSource::Records, head.size)?.prove(position)?.check(position, head)
}

impl InclusionProof {
    fn check(self, position: Position, head: &TreeHead) -> Result<Self, EntryError> {
        let (leaf, index) = (self.leaf.hash(position), position.get() - 1);
        verify_inclusion(&leaf, index, head.size, &self.hashes, &head.root)?;
        Ok(self)
    }
}

impl<'a, 'b> ProofTree<'a, 'b> {
    fn read(events: &'a mut EventReader<'b>, source: LeafSource, size: u64) -> Result<Self, EntryError> {
        let mut tree = Self { events, source, size, levels: Levels::default(), groups: Vec::new() };
        let stored = match source {
            LeafSource::Stored => stored_roots(tree.events, size / GROUP),
            LeafSource::Records => Vec::new(),
        };
        for group in 0..size / GROUP {
            let stored = usize::try_from(group).ok().and_then(|group| stored.get(group));
            let root = match stored.filter(|root| !is_all_zeros(&root.0)) {
                Some(root) => *root,
                None => tree.fold(group * GROUP, TILE_HEIGHT)?,
            };
            tree.levels.push(root);
        }
        Ok(tree)
    }

    fn prove(&mut self, position: Position) -> Result<InclusionProof, EntryError> {
        let index = position.get() - 1;
        let hashes = prove_inclusion(index, self.size, |first, height| match height {
            ..TILE_HEIGHT => self.fold(first, height),
            _ => self.levels.subtree(first, height).ok_or(EntryError::NotThere),
        })?;
        let at = usize::try_from(index % GROUP).unwrap_or(usize::MAX);
        let leaf = self.leaves(index / GROUP)?.get(at).copied();
        let (leaf, hashes) = leaf.zip(hashes).ok_or(EntryError::NotThere)?;
        Ok(InclusionProof { leaf, hashes })
    }

    /// Makes the root of the `2^height` leaves from `first` on, which lie in one group.
    fn fold(&mut self, first: u64, height: u32) -> Result<TreeHash, EntryError> {
        let from = usize::try_from(first % GROUP).unwrap_or(usize::MAX);
        let leaves = self.leaves(first / GROUP)?.get(from..from.saturating_add(1 << height));
        let positions = (first + 1..).map_while(Position::new);
        let hashes: Vec<_> =
            positions.zip(leaves.unwrap_or_default()).map(|(at, leaf)| leaf.hash(at)).collect();
        fold_complete(&hashes).ok_or(EntryError::NotThere)
    }

    /// Returns the leaves of a group, as far as the tree reaches.
    fn leaves(&mut self, group: u64) -> Result<&[LeafEntry], EntryError> {
        /// The most groups that stay in memory.
        const MAX_GROUPS: usize = 4;
        let known = match self.groups.iter().position(|(known, _)| *known == group) {
            Some(known) => known,
            None => {
                let leaves = self.read_leaves(group * GROUP + 1, GROUP.min(self.size - group * GROUP))?;
                if self.groups.len() == MAX_GROUPS {
                    self.groups.remove(0);
                }
                self.groups.push((group, leaves));
                self.groups.len() - 1
            }
        };
        Ok(self.groups.get(known).map_or(&[], |(_, leaves)| leaves))
    }

    fn read_leaves(&mut self, first: u64, count: u64) -> Result<Vec<LeafEntry>, EntryError> {
        let mut leaves = Vec::with_capacity(TILE_WIDTH);
        let end = first + count;
        let mut next = Position::new(first).ok_or(EntryError::NotThere)?;
        while next.get() < end {
            let stored = match (self.source, self.events.segment_of(next)) {
                (LeafSource::Stored, Some((header, behind))) => {
                    let end = behind.map_or(end, |behind| end.min(behind.get()));
                    stored_leaves(self.events, header, next, end - next.get())
                }
                _ => None,
            };
            let before = leaves.len();
            match stored {
                Some(stored) => leaves.extend(stored),
                None => leaves.push(self.events.leaf(next)?),
            }
            next = next.plus((leaves.len() - before) as u64).ok_or(EntryError::NotThere)?;
        }
        Ok(leaves)
    }
}

/// Reads so many roots of groups from the level above the leaves, or as many as it has.
fn stored_roots(events: &EventReader<'_>, groups: u64) -> Vec<TreeHash> {
    let mut bytes = Vec::new();
    let read = events
        .folder
        .open_level()
        .and_then(|file| file.take(LevelsHeader::offset_of(groups)).read_to_end(&mut bytes));
    let header = LevelsHeader::parse(&bytes).ok().filter(|header| header.ledger == events.ledger());
    match (read, header) {
        (Ok(_), Some(_)) => {
            LevelsHeader::hashes(bytes.get(LEVELS_HEADER_BYTES..).unwrap_or_default()).collect()
        }
        _ => Vec::new(),
    }
}

/// Reads so many leaves from the file beside a segment; `None` where they are not all there.
fn stored_leaves(
    events: &EventReader<'_>,
    segment: &SegmentHeader,
    first: Position,
    count: u64,
) -> Option<Vec<LeafEntry>> {
    let file = events.folder.open_leaves(segment.number).ok()?;
    let mut header = [0; LEAVES_HEADER_BYTES];
    file.read_exact_at(&mut header, 0).ok()?;
    let header = LeavesHeader::parse(&header).ok()?;
    let mut bytes = vec![0; usize::try_from(count).ok()?.checked_mul(LEAF_ENTRY_BYTES)?];
    file.read_exact_at(&mut bytes, header.offset_of(first)?).ok()?;
    Some(LeafEntry::all(&bytes).collect()).filter(|_| count > 0 && header.ledger == segment.ledger)
}
