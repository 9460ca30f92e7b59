//! The keys of rows: a table, the values asked for, and the row's place in its order.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use bitacora_formats::{MAX_ROW_KEY_BYTES, ROW_GROUP_BYTES, RowKeys};

/// The key of a row, or the beginning of the keys of several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowKey {
    bytes: [u8; MAX_ROW_KEY_BYTES],
    length: u8,
}

impl RowKey {
    /// The key of what a table, numbered from 1, holds for these values; more rows of them by [`Self::at`].
    pub(crate) fn new(keys: &RowKeys, table: u8, values: &[&[u8]]) -> Self {
        Self { bytes: [0; MAX_ROW_KEY_BYTES], length: 0 }.with(&[table]).with(&keys.group(table, values))
    }

    /// Of the rows of these values the one at this number; they lie in the order of their numbers.
    #[must_use]
    pub(crate) fn at(self, number: u64) -> Self {
        self.with(&number.to_be_bytes())
    }

    /// A key as it is stored; `None` for one that no row has.
    pub(crate) fn stored(bytes: &[u8]) -> Option<Self> {
        let empty = Self { bytes: [0; MAX_ROW_KEY_BYTES], length: 0 };
        (bytes.len() <= MAX_ROW_KEY_BYTES).then(|| empty.with(bytes))
    }

    /// The table.
    pub(crate) fn table(&self) -> u8 {
        self.as_slice().first().copied().unwrap_or(0)
    }

    /// The first 8 bytes of the group, as a number: what orders rows that have no order of their own.
    pub(crate) fn group_number(&self) -> u64 {
        self.number_from(1)
    }

    /// The first number behind the group.
    pub(crate) fn first_number(&self) -> u64 {
        self.number_from(1 + ROW_GROUP_BYTES)
    }

    fn number_from(&self, at: usize) -> u64 {
        let bytes = self.as_slice().get(at..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
    }

    /// The last number of the key.
    pub(crate) fn last_number(&self) -> u64 {
        self.number_from(self.as_slice().len().saturating_sub(8))
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    fn with(mut self, more: &[u8]) -> Self {
        let end = usize::from(self.length) + more.len();
        debug_assert!(end <= MAX_ROW_KEY_BYTES, "a key takes two numbers");
        if let (Some(room), Ok(length)) =
            (self.bytes.get_mut(usize::from(self.length)..end), u8::try_from(end))
        {
            room.copy_from_slice(more);
            self.length = length;
        }
        self
    }
}

impl PartialEq for RowKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for RowKey {}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for RowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}
