//! The tree heads beside a released segment.
//! Its frames are gone, so a head is compared with the segment's links, and with the tree where archives give its root.

use bitacora_formats::{Commitment, LedgerName, Position, SegmentHeader, SegmentNumber, TreeHash};

use super::read::ReadHeads;
use super::{HeadFault, SegmentHeads, head_fault};
use crate::fault::Fault;

/// A head that the ledger signed, in its place. Archives may show whether its root is the tree's.
pub(crate) struct ReleasedHead {
    segment: SegmentNumber,
    offset: u64,
    position: Position,
    pub(crate) size: u64,
    root: TreeHash,
    /// The commitment from blind and record of its event.
    commitment: Commitment,
}

impl ReleasedHead {
    /// Returns the position of its event.
    pub(crate) fn position(&self) -> u64 {
        self.position.get()
    }

    /// Compares its event with the one that an archive has there.
    pub(crate) fn check_event(&self, expected: Commitment) -> Result<(), Fault> {
        if self.commitment == expected {
            return Ok(());
        }
        let kind = HeadFault::Commitment { expected, found: self.commitment };
        Err(head_fault(self.segment, self.offset, self.position, kind))
    }

    /// Compares its root with the one of the tree of its size, as archives have it.
    pub(crate) fn check_root(&self, expected: TreeHash) -> Result<(), Fault> {
        if self.root == expected {
            return Ok(());
        }
        let kind = HeadFault::Root { expected, found: self.root };
        Err(head_fault(self.segment, self.offset, self.position, kind))
    }
}

/// Checks the heads beside the segment of this header, whose last event stands at `last`.
pub(crate) fn check_released(
    read: ReadHeads,
    header: &SegmentHeader,
    last: Position,
    name: Option<&LedgerName>,
) -> Result<Vec<ReleasedHead>, Fault> {
    let mut heads = SegmentHeads::begin(read, header, &[]);
    heads.check_file()?;
    let mut before = header.first_position.get() - 1;
    for head in &heads.read.heads {
        let placed = heads.check_place(head, before, name);
        let placed = placed.and_then(|()| match head.size > last.get() {
            true => Err(HeadFault::Size { size: head.size }),
            false => Ok(()),
        });
        placed.map_err(|kind| heads.fault(head, kind))?;
        before = head.size;
    }
    if let Some(fault) = heads.read.fault.take() {
        return Err(fault);
    }
    let released = heads.read.heads.iter().map(|head| ReleasedHead {
        segment: header.number,
        offset: head.offset,
        position: head.position,
        size: head.size,
        root: head.root,
        commitment: head.commitment,
    });
    Ok(released.collect())
}
