//! The commitments of consecutive events, taken from the tree's leaves, which lie in clear.
//! Comparing a group of leaves with its root costs a fraction of committing to each record again.

use bitacora_formats::{Commitment, LeafEntry, Position, TILE_WIDTH};

use crate::limits::TREE_READ_EVENTS;
use crate::read::proofs::TreeReader;
use crate::shared_state::SharedState;

/// Leaves of a group.
const GROUP: u64 = TILE_WIDTH as u64;

/// The commitments of a stretch of events.
pub(crate) struct Commitments<'a> {
    shared: &'a SharedState,
    /// The last durable position.
    head: Position,
    /// The group that was read last, and its leaves, which are those of the tree.
    group: Option<(u64, Vec<LeafEntry>)>,
    /// `true` while every leaf so far was right. Once one was not, every commitment is made again.
    is_of_use: bool,
}

impl<'a> Commitments<'a> {
    /// Those of `events` events up to `head`; too few of them would not be worth a group.
    pub(crate) fn of_many(shared: &'a SharedState, head: Position, events: u64) -> Option<Self> {
        (events >= TREE_READ_EVENTS).then_some(Self { shared, head, group: None, is_of_use: true })
    }

    /// The one of the event at `position`; `None` where the tree cannot tell, and it has to be made of the record.
    pub(crate) fn of(&mut self, position: Position) -> Option<Commitment> {
        let index = position.get() - 1;
        if self.group.as_ref().is_none_or(|(group, _)| *group != index / GROUP) {
            self.group = self.is_of_use.then(|| self.read(index / GROUP)).flatten();
            self.is_of_use = self.group.is_some();
        }
        let (_, leaves) = self.group.as_ref()?;
        leaves.get(usize::try_from(index % GROUP).ok()?).map(|leaf| leaf.commitment)
    }

    fn read(&self, group: u64) -> Option<(u64, Vec<LeafEntry>)> {
        let durable = self.head.get().saturating_sub(group.saturating_mul(GROUP)).min(GROUP);
        let leaves = TreeReader::new(self.shared).leaves(group, usize::try_from(durable).ok()?);
        leaves.ok().map(|leaves| (group, leaves))
    }
}
