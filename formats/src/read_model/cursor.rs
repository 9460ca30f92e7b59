//! The cursor of a read model: its position, the history it follows, and the sum of its rows.

use super::{RowError, RowSum};
use crate::fields::{Fields, ShortField};
use crate::{ChainHash, LedgerId, Position, TreeHash};

/// The magic that a cursor begins with.
pub const READ_MODEL_MAGIC: [u8; 8] = *b"BITACMDL";
/// The format that is written. The one before it, which has no cut, can be read.
pub const READ_MODEL_FORMAT: u16 = 2;
/// The format before cuts.
const FORMAT_WITHOUT_CUT: u16 = 1;
/// The flag of a cursor with a chain hash.
const HAS_CHAIN_HASH: u16 = 1;
/// The flag of a cursor whose cut is done.
const CUT_IS_DONE: u16 = 2;
/// The key of the row that holds the cursor: table 0, which no model has. It does not count in the sum.
pub const CURSOR_KEY: [u8; 1] = [0];

/// The rows of a model that left the store, and what is known of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CutState {
    /// The position of the cut: rows that no later event wrote leave. 0 without one.
    pub through: u64,
    /// `true` if all of them left.
    pub is_done: bool,
    /// Rows whose content left.
    pub left: u64,
    /// Events that change rows that left. The model stands before the first of them until it is folded again.
    pub late: u64,
}

/// The position that a model has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCursor {
    /// The ledger.
    pub ledger: LedgerId,
    /// The last event that is folded.
    pub position: Position,
    /// The chain hash before the frame that holds it, as far as that was known.
    pub previous: Option<ChainHash>,
    /// The root of the tree after that frame.
    pub tree_root: TreeHash,
    /// The sum of the rows.
    pub sum: RowSum,
    /// The rows that left.
    pub cut: CutState,
}

impl ModelCursor {
    /// The cursor's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(164);
        bytes.extend_from_slice(&READ_MODEL_MAGIC);
        bytes.extend_from_slice(&READ_MODEL_FORMAT.to_le_bytes());
        let mut flags = 0;
        flags |= if self.previous.is_some() { HAS_CHAIN_HASH } else { 0 };
        flags |= if self.cut.is_done { CUT_IS_DONE } else { 0 };
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&self.ledger.0);
        bytes.extend_from_slice(&self.position.get().to_le_bytes());
        bytes.extend_from_slice(&self.previous.map_or([0; 32], |previous| previous.0));
        bytes.extend_from_slice(&self.tree_root.0);
        bytes.extend_from_slice(&self.sum.rows.to_le_bytes());
        bytes.extend(self.sum.lanes.iter().flat_map(|lane| lane.to_le_bytes()));
        for number in [self.cut.through, self.cut.left, self.cut.late] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads a cursor.
    ///
    /// # Errors
    /// [`RowError::Format`] for another format, [`RowError::Malformed`] for anything that is not written.
    pub fn decode(bytes: &[u8]) -> Result<Self, RowError> {
        let mut fields = Fields::new(bytes);
        if fields.bytes()? != READ_MODEL_MAGIC {
            return Err(RowError::Malformed);
        }
        let found = fields.u16()?;
        if ![FORMAT_WITHOUT_CUT, READ_MODEL_FORMAT].contains(&found) {
            return Err(RowError::Format { found });
        }
        let flags = fields.u16()?;
        let ledger = LedgerId(fields.bytes()?);
        let position = Position::new(fields.u64()?).ok_or(RowError::Malformed)?;
        let previous = ChainHash(fields.bytes()?);
        let previous = match flags & HAS_CHAIN_HASH {
            0 if previous.0 == [0; 32] => None,
            HAS_CHAIN_HASH => Some(previous),
            _ => return Err(RowError::Malformed),
        };
        let is_done = flags & CUT_IS_DONE != 0;
        let known = if found == READ_MODEL_FORMAT { HAS_CHAIN_HASH | CUT_IS_DONE } else { HAS_CHAIN_HASH };
        if flags & !known != 0 {
            return Err(RowError::Malformed);
        }
        let tree_root = TreeHash(fields.bytes()?);
        let rows = fields.u64()?;
        let mut lanes = [0; 4];
        for lane in &mut lanes {
            *lane = fields.u64()?;
        }
        let cut = match found {
            READ_MODEL_FORMAT => {
                CutState { through: fields.u64()?, is_done, left: fields.u64()?, late: fields.u64()? }
            }
            _ => CutState::default(),
        };
        let cursor = Self { ledger, position, previous, tree_root, sum: RowSum { rows, lanes }, cut };
        if fields.at_end() { Ok(cursor) } else { Err(RowError::Malformed) }
    }
}

impl From<ShortField> for RowError {
    fn from(_: ShortField) -> Self {
        Self::Malformed
    }
}
