//! The sum over all rows of a model, kept up row by row.

use super::RowHash;
use crate::kdf::{KeyUse, chain_hasher};

/// The sum of the hashes of a model's rows. It depends neither on the order in which they were written, nor on rows
/// that are gone.
///
/// Each 8 bytes of a hash are a number, little-endian, and are summed up by themselves, modulo 2^64. The hashes are
/// keyed, so that only a holder of the key can find other rows with the same sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowSum {
    pub(super) rows: u64,
    pub(super) lanes: [u64; 4],
}

impl RowSum {
    /// A row is there.
    pub fn add(&mut self, row: &RowHash) {
        self.rows = self.rows.wrapping_add(1);
        for (lane, number) in self.lanes.iter_mut().zip(numbers(row)) {
            *lane = lane.wrapping_add(number);
        }
    }

    /// A row is there no more.
    pub fn take(&mut self, row: &RowHash) {
        self.rows = self.rows.wrapping_sub(1);
        for (lane, number) in self.lanes.iter_mut().zip(numbers(row)) {
            *lane = lane.wrapping_sub(number);
        }
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The digest of the model's state: the same events give the same, however often it was folded again.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = chain_hasher(KeyUse::ReadModelState);
        hasher.update(&self.rows.to_le_bytes());
        for lane in self.lanes {
            hasher.update(&lane.to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

fn numbers(row: &RowHash) -> impl Iterator<Item = u64> {
    row.0.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
}
