//! The end of a segment, from which the next one begins.

use super::{ensure, ensure_time};
use crate::chain::{ChainTip, genesis_tip};
use crate::damage::DamageKind;
use crate::ids::{Epoch, Generation, LedgerId, Micros, Position, SegmentNumber, TreeHash};
use crate::segment::SegmentHeader;
use crate::tree::Frontier;

/// The end of a segment, with which the next one must go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The ledger.
    pub ledger: LedgerId,
    /// Its generation.
    pub generation: Generation,
    /// The opening that wrote the segment.
    pub epoch: Epoch,
    /// The segment's number.
    pub number: SegmentNumber,
    /// The first position after it.
    pub next_position: Position,
    /// The time of its last frame.
    pub time: Micros,
    /// The size of the tree after it.
    pub tree_size: u64,
    /// The root of the tree after it.
    pub tree_root: TreeHash,
    /// The tip of the chain after it.
    pub tip: ChainTip,
}

impl SegmentEnd {
    /// Returns the end with which the first segment of a ledger goes on.
    #[must_use]
    pub fn before_first(ledger: LedgerId) -> Self {
        Self {
            ledger,
            generation: Generation::FIRST,
            epoch: Epoch::FIRST,
            number: SegmentNumber(0),
            next_position: Position::FIRST,
            time: Micros(0),
            tree_size: 0,
            tree_root: Frontier::new().root(),
            tip: genesis_tip(),
        }
    }

    /// Checks that the segment with this header, and with this time in its first frame, goes on from here.
    ///
    /// # Errors
    /// The [`DamageKind`] of the first thing that does not.
    pub fn check_next(&self, header: &SegmentHeader, first_time: Micros) -> Result<(), DamageKind> {
        self.check_header(header)?;
        ensure_time(self.time, first_time)
    }

    /// Checks that the header goes on from here.
    pub(super) fn check_header(&self, header: &SegmentHeader) -> Result<(), DamageKind> {
        let (expected, found) = (self.ledger, header.ledger);
        ensure(expected == found, DamageKind::Ledger { expected, found })?;
        let (expected, found) = (self.generation, header.generation);
        ensure(expected <= found, DamageKind::Generation { expected, found })?;
        let (expected, found) = (self.epoch, header.epoch);
        ensure(expected <= found, DamageKind::Epoch { expected, found })?;
        let (after, found) = (self.number, header.number);
        ensure(after.next() == Some(found), DamageKind::SegmentNumber { after, found })?;
        let (expected, found) = (self.next_position, header.first_position);
        ensure(expected == found, DamageKind::FirstPosition { expected, found })?;
        let (expected, found) = (self.tip.hash, header.previous.hash);
        ensure(expected == found, DamageKind::PreviousHash { expected, found })?;
        ensure(self.tip == header.previous, DamageKind::PreviousSignature)?;
        let (expected, found) = (self.tree_size, header.frontier.size());
        ensure(expected == found, DamageKind::TreeSize { expected, found })?;
        let (expected, found) = (self.tree_root, header.frontier.root());
        ensure(expected == found, DamageKind::TreeRoot { expected, found })
    }
}
