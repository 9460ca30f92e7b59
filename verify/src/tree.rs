//! The tree over one segment's events, rebuilt and compared with the root in every frame.
//!
//! It grows from the state in the segment's header. Its leaves are those of the opened records, or without keys those
//! beside the segment.

use bitacora_formats::{
    Epoch, FrameHeader, Frontier, LEAF_ENTRY_BYTES, LeafEntry, Position, SegmentHeader, SegmentNumber,
    TILE_WIDTH, TreeHash,
};

use super::archives::LedgerArchives;
use super::fault::{Fault, FaultKind, Gap};
use super::folder::{LedgerFolder, SHOWN_LEVEL_1, shown, shown_leaves};
use super::frames::OpenedEvent;
use super::heads::SegmentHeads;
use super::leaves::{FrameLeaves, LeavesFileError, SegmentLeaves};
use super::level::{CompletingFrame, LeafGroup, LevelFault, StoredLevel};
use super::window::Window;

/// The tree over a segment's events, up to some frame.
pub(super) struct SegmentTree<'a> {
    number: SegmentNumber,
    epoch: Epoch,
    frontier: Frontier,
    /// The leaves beside the segment; `None` from the first frame without leaves on.
    leaves: Option<SegmentLeaves<'a>>,
    /// The fault of the first leaf of zeros, unless zeros follow up to the segment's last one: then they were lost with the power.
    lost: Option<Fault>,
    /// The stored level that completed groups of leaves are compared with.
    level: Option<&'a StoredLevel>,
    archives: &'a LedgerArchives,
    found: FoundTree,
}

/// The findings of a segment's tree.
#[derive(Default)]
pub(super) struct FoundTree {
    /// The number of events whose leaves beside the segment were compared.
    pub(super) events: u64,
    /// The first event without a leaf beside the segment; all events behind it have none either.
    pub(super) absent_from: Option<Position>,
    /// A fault of leaves that a crash or a running service explains, unless a later opening rebuilt them.
    pub(super) cut: Option<Fault>,
    /// The number of bytes behind the leaves of the last frame, in a segment that is not ended.
    pub(super) bytes_ahead: u64,
    /// The reason why existing leaves were not read.
    pub(super) gap: Option<Gap>,
}

/// An invalid leaf, and its offset.
struct LeafFault {
    offset: u64,
    position: Position,
    kind: FaultKind,
}

impl<'a> SegmentTree<'a> {
    /// Begins with the tree that the segment's header states.
    pub(super) fn begin(
        folder: &LedgerFolder<'_>,
        header: &SegmentHeader,
        window: &'a mut Window,
        (level, archives): (Option<&'a StoredLevel>, &'a LedgerArchives),
    ) -> Result<Self, Fault> {
        let mut tree = Self { level, ..Self::without_leaves(header, archives) };
        if let Some(level) = level {
            level.begin(header.ledger).map_err(|wrong| level_fault(header.first_position, wrong))?;
        }
        match SegmentLeaves::open(folder, header, window) {
            Ok(leaves) => tree.leaves = Some(leaves),
            Err(none) => tree.no_leaves(header.first_position, none)?,
        }
        Ok(tree)
    }

    /// Begins a tree whose leaves are not checked.
    pub(super) fn without_leaves(header: &SegmentHeader, archives: &'a LedgerArchives) -> Self {
        Self {
            number: header.number,
            epoch: header.epoch,
            frontier: header.frontier.clone(),
            leaves: None,
            lost: None,
            level: None,
            archives,
            found: FoundTree::default(),
        }
    }

    /// Grows by the events of the frame at this offset; by its opened events, if there are any.
    pub(super) fn grow(
        &mut self,
        offset: u64,
        header: &FrameHeader,
        opened: Option<&[OpenedEvent]>,
        heads: &mut SegmentHeads,
    ) -> Result<(), Fault> {
        let mut groups = Vec::new();
        if let Some(events) = opened {
            heads.leaves(header, |number| Some(events.get(number)?.commitment));
            for event in events {
                push(&mut self.frontier, event.leaf, &mut groups);
            }
            self.check_root(header).map_err(|(expected, found)| {
                self.fault(shown(self.number), offset, header, FaultKind::TreeRoot { expected, found })
            })?;
        }
        if opened.is_some() {
            self.check_level(header, &groups)?;
        }
        let Some(mut leaves) = self.leaves.take() else { return Ok(()) };
        let stored = match leaves.next(header) {
            Ok(stored) => stored,
            Err(none) => return self.no_leaves(header.first_position, none),
        };
        let leaves_offset = stored.offset;
        if self.lost.is_some() {
            if !stored.has_zeros_from(leaves_offset) {
                self.found.absent_from = None;
                return self.lost.take().map_or(Ok(()), Err);
            }
            self.leaves = Some(leaves);
            return Ok(());
        }
        let compared = match opened {
            Some(events) => compare(&stored, header, events),
            None => grow_by(&mut self.frontier, header, &stored, &mut groups),
        };
        if let Err(LeafFault { offset, position, kind }) = compared {
            let fault = Fault::at(shown_leaves(self.number), offset, position, Some(position), kind);
            if !stored.has_zeros_from(offset) {
                return Err(fault);
            }
            self.lost = Some(fault);
            self.found.absent_from.get_or_insert(header.first_position);
            self.leaves = Some(leaves);
            return Ok(());
        }
        if opened.is_none() {
            self.check_root(header).map_err(|(expected, found)| {
                let kind = FaultKind::LeavesRoot { expected, found };
                self.fault(shown_leaves(self.number), leaves_offset, header, kind)
            })?;
            heads.leaves(header, |number| Some(LeafEntry::decode(stored.entries.get(number)?).commitment));
            self.check_level(header, &groups)?;
        }
        self.found.events += u64::from(header.count);
        self.leaves = Some(leaves);
        Ok(())
    }

    /// Compares the groups that a frame completes with the stored ones, and with those in archives.
    fn check_level(&self, header: &FrameHeader, groups: &[LeafGroup]) -> Result<(), Fault> {
        for group in groups {
            self.archives.check_group(*group).map_err(|expected| {
                let (first, last) = group.positions();
                let kind = FaultKind::ArchivedGroup { first, last, expected, found: group.root };
                self.fault(shown_leaves(self.number), 0, header, kind)
            })?;
        }
        let Some(level) = self.level else { return Ok(()) };
        let completed = CompletingFrame { first: header.first_position, epoch: self.epoch };
        let checked = groups.iter().try_for_each(|group| level.check(*group, completed));
        checked.map_err(|wrong| level_fault(header.first_position, wrong))
    }

    fn check_root(&self, header: &FrameHeader) -> Result<(), (TreeHash, TreeHash)> {
        let (expected, found) = (header.tree_root, self.frontier.root());
        if expected == found { Ok(()) } else { Err((expected, found)) }
    }

    fn fault(&self, file: String, offset: u64, header: &FrameHeader, kind: FaultKind) -> Fault {
        Fault::at(file, offset, header.first_position, Some(header.last_position()), kind)
    }

    /// Notes that there are no leaves from this event on.
    fn no_leaves(&mut self, first: Position, none: LeavesFileError) -> Result<(), Fault> {
        match none {
            LeavesFileError::Fault(fault) => return Err(fault),
            LeavesFileError::Absent => {}
            LeavesFileError::Cut(bytes) => {
                let cut = Fault::at(shown_leaves(self.number), bytes, first, None, FaultKind::LeavesCut);
                self.found.cut = Some(cut);
            }
            LeavesFileError::Unreadable(error) => {
                let (file, what) = (shown_leaves(self.number), error.to_string());
                self.found.gap = Some(Gap::Leaves { file, what, first_position: first.get() });
            }
        }
        self.leaves = None;
        self.found.absent_from.get_or_insert(first);
        Ok(())
    }

    /// Ends after the last frame. No bytes may follow the leaves of an ended segment.
    pub(super) fn end(&mut self, is_closed: bool) -> Result<(), Fault> {
        let Some(leaves) = &self.leaves else { return Ok(()) };
        let (expected, found) = (leaves.offset(), leaves.file_bytes());
        if is_closed && expected != found {
            let next = Position::new(self.frontier.size().saturating_add(1)).unwrap_or(Position::FIRST);
            let kind = FaultKind::LeavesBytes { expected, found };
            return Err(Fault::at(shown_leaves(self.number), expected, next, None, kind));
        }
        self.found.bytes_ahead = found.saturating_sub(expected);
        Ok(())
    }

    pub(super) fn found(self) -> FoundTree {
        FoundTree { cut: self.lost.or(self.found.cut), ..self.found }
    }
}

/// Grows the tree by the stored leaves.
fn grow_by(
    frontier: &mut Frontier,
    header: &FrameHeader,
    stored: &FrameLeaves<'_>,
    groups: &mut Vec<LeafGroup>,
) -> Result<(), LeafFault> {
    for (position, (offset, entry)) in positions(header).zip(entries(stored)) {
        check_time(header, position, offset, &entry)?;
        push(frontier, entry.hash(position), groups);
    }
    Ok(())
}

/// Adds a leaf to the tree, and the group that it completes, if any, to `groups`.
fn push(frontier: &mut Frontier, leaf: TreeHash, groups: &mut Vec<LeafGroup>) {
    if let Some(root) = frontier.push_grouping(leaf) {
        groups.push(LeafGroup { number: frontier.size() / TILE_WIDTH as u64 - 1, root });
    }
}

/// Returns a fault in the stored level, found at the frame that begins here.
pub(super) fn level_fault(first: Position, wrong: LevelFault) -> Fault {
    let LevelFault { offset, kind } = wrong;
    Fault::at(SHOWN_LEVEL_1.to_owned(), offset, first, None, kind)
}

/// Compares the stored leaves with those of the records.
fn compare(stored: &FrameLeaves<'_>, header: &FrameHeader, events: &[OpenedEvent]) -> Result<(), LeafFault> {
    for ((position, (offset, entry)), event) in positions(header).zip(entries(stored)).zip(events) {
        check_time(header, position, offset, &entry)?;
        let (expected, found) = (event.commitment, entry.commitment);
        if expected != found {
            let kind = FaultKind::LeafCommitment { expected, found };
            return Err(LeafFault { offset, position, kind });
        }
    }
    Ok(())
}

fn check_time(
    header: &FrameHeader,
    position: Position,
    offset: u64,
    entry: &LeafEntry,
) -> Result<(), LeafFault> {
    let (expected, found) = (header.time.0, entry.time.0);
    if expected == found {
        return Ok(());
    }
    Err(LeafFault { offset, position, kind: FaultKind::LeafTime { expected, found } })
}

/// Returns each entry and its offset.
fn entries<'a>(stored: &FrameLeaves<'a>) -> impl Iterator<Item = (u64, LeafEntry)> + 'a {
    (stored.offset..).step_by(LEAF_ENTRY_BYTES).zip(stored.entries.iter().map(LeafEntry::decode))
}

fn positions(header: &FrameHeader) -> impl Iterator<Item = Position> + 'static {
    let first = header.first_position;
    (0..).map_while(move |distance| first.plus(distance))
}
