//! The cursor of a read model: its position, the history it follows, and the sum of its rows.

use super::{RowError, RowSum};
use crate::fields::{Fields, ShortField};
use crate::{ChainHash, LedgerId, Position, TreeHash};

/// The magic that a cursor begins with.
pub const READ_MODEL_MAGIC: [u8; 8] = *b"BITACMDL";
/// The one format that is written, and the one that can be read.
pub const READ_MODEL_FORMAT: u16 = 1;
/// The key of the row that holds the cursor: table 0, which no model has. It does not count in the sum.
pub const CURSOR_KEY: [u8; 1] = [0];

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
}

impl ModelCursor {
    /// The cursor's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(140);
        bytes.extend_from_slice(&READ_MODEL_MAGIC);
        bytes.extend_from_slice(&READ_MODEL_FORMAT.to_le_bytes());
        bytes.extend_from_slice(&u16::from(self.previous.is_some()).to_le_bytes());
        bytes.extend_from_slice(&self.ledger.0);
        bytes.extend_from_slice(&self.position.get().to_le_bytes());
        bytes.extend_from_slice(&self.previous.map_or([0; 32], |previous| previous.0));
        bytes.extend_from_slice(&self.tree_root.0);
        bytes.extend_from_slice(&self.sum.rows.to_le_bytes());
        bytes.extend(self.sum.lanes.iter().flat_map(|lane| lane.to_le_bytes()));
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
        if found != READ_MODEL_FORMAT {
            return Err(RowError::Format { found });
        }
        let flags = fields.u16()?;
        let ledger = LedgerId(fields.bytes()?);
        let position = Position::new(fields.u64()?).ok_or(RowError::Malformed)?;
        let previous = ChainHash(fields.bytes()?);
        let previous = match flags {
            0 if previous.0 == [0; 32] => None,
            1 => Some(previous),
            _ => return Err(RowError::Malformed),
        };
        let tree_root = TreeHash(fields.bytes()?);
        let rows = fields.u64()?;
        let mut lanes = [0; 4];
        for lane in &mut lanes {
            *lane = fields.u64()?;
        }
        let cursor = Self { ledger, position, previous, tree_root, sum: RowSum { rows, lanes } };
        if fields.at_end() { Ok(cursor) } else { Err(RowError::Malformed) }
    }
}

impl From<ShortField> for RowError {
    fn from(_: ShortField) -> Self {
        Self::Malformed
    }
}
