//! The table of the identities in ended segments.
//!
//! Layout: `docs/formats/id_table.md`.
//!
//! Everything in it can be made again from the log, so a doubtful table is replaced instead of repaired. It must never
//! give a wrong answer. The file as a whole is therefore authenticated where it is loaded, and each block again
//! whenever it is read.

use subtle::ConstantTimeEq;

use crate::fields::{Fields, ShortField};
use crate::id_filter::{ID_FILTER_BLOCK_BYTES, IdFilter};
use crate::kdf::derive;
use crate::{ChainHash, EventKey, Generation, KeyUse, LedgerId, Position, Secret, SegmentNumber};

/// The magic that an id table begins with.
pub const ID_TABLE_MAGIC: [u8; 8] = *b"BITACIDS";
/// The one format that is written, and the one that can be read. Format 1, whose keys came of another derivation, is retired.
pub const ID_TABLE_FORMAT: u16 = 2;
/// Bytes of the header, and of each block of entries: what is read of a disk at once.
pub const ID_BLOCK_BYTES: usize = 4_096;
/// Entries of one block; only the last block of a table holds fewer.
pub const ID_BLOCK_ENTRIES: usize = (ID_BLOCK_BYTES - BLOCK_TRAILER_BYTES) / ENTRY_BYTES;
/// Bytes of the keyed hash at the end of a table.
pub const ID_TABLE_CHECK_BYTES: usize = 32;
/// Entries of one table.
pub const MAX_ID_TABLE_ENTRIES: u64 = 1 << 36;

/// Key, position, content.
const ENTRY_BYTES: usize = 16 + 8 + 8;
/// Count, reserved, check.
const BLOCK_TRAILER_BYTES: usize = 2 + 14 + BLOCK_CHECK_BYTES;
const BLOCK_CHECK_BYTES: usize = 16;
/// Bytes of a block that its check is over.
const CHECKED_BYTES: usize = ID_BLOCK_BYTES - BLOCK_CHECK_BYTES;
/// Bytes of the header before the zeros.
const HEADER_FIELDS_BYTES: usize = 80;

const _: () = assert!(ID_BLOCK_ENTRIES * ENTRY_BYTES + BLOCK_TRAILER_BYTES == ID_BLOCK_BYTES);

/// An error in the bytes of an id table: it is none, or not the expected one, or has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdTableError {
    /// No id table begins so.
    #[error("found {}, expected the first bytes of an id table", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found id table format {found}, expected {ID_TABLE_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// A reserved byte is not zero.
    #[error("found others, expected reserved bytes of an id table that are zero")]
    Reserved,
    /// The header's numbers cannot be those of a table.
    #[error("an id table of segments {first} to {last} with {entries} entries cannot be")]
    Impossible {
        /// The first segment it says it covers.
        first: u32,
        /// The last one.
        last: u32,
        /// The number of entries that it claims.
        entries: u64,
    },
    /// The file is longer or shorter than its header says.
    #[error("found an id table of {found} bytes, expected {expected}")]
    Length {
        /// Bytes by the header.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The table of another ledger, of other segments, or of segments that ended otherwise.
    #[error("an id table bound to another ledger or other segments than these")]
    Binding,
    /// The keyed hash over the whole table does not fit.
    #[error("the id table is not what was written, or was written with another keyring")]
    NotAuthentic,
    /// The keyed hash over a block does not fit.
    #[error("block {block} of the id table is not what was written")]
    BlockNotAuthentic {
        /// The block's number, from 0.
        block: u64,
    },
    /// Keys out of order, a position 0, a block with too few entries: authentic, and wrong all the same.
    #[error("block {block} of the id table breaks its own rules")]
    Block {
        /// The block's number, from 0.
        block: u64,
    },
}

impl From<ShortField> for IdTableError {
    fn from(ended: ShortField) -> Self {
        Self::Length { expected: ended.needed, found: ended.found }
    }
}

/// The ledger and the segments that a table covers. Another binding is another table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdTableBinding {
    /// The ledger.
    pub ledger: LedgerId,
    /// Its generation.
    pub generation: Generation,
    /// The first segment whose identities it holds.
    pub first: SegmentNumber,
    /// The last one; all between them are covered too.
    pub last: SegmentNumber,
    /// The chain hash at the end of the last one, which commits to everything before.
    pub hash: ChainHash,
}

/// One identity: where it stands, and enough of its commitment to tell other content from the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdEntry {
    /// The identity.
    pub key: EventKey,
    /// The position of its event.
    pub position: Position,
    /// The first bytes of its commitment.
    pub content: [u8; 8],
}

/// The first block of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdTableHeader {
    /// The ledger and the segments that it covers.
    pub binding: IdTableBinding,
    /// The number of identities it holds.
    pub entries: u64,
}

impl IdTableHeader {
    /// Reads a header. It is not authentic before the whole table is.
    ///
    /// # Errors
    ///
    /// [`IdTableError`] for anything but a header that this version writes.
    pub fn parse(bytes: &[u8; ID_BLOCK_BYTES]) -> Result<Self, IdTableError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != ID_TABLE_MAGIC {
            return Err(IdTableError::Magic { found });
        }
        let found = fields.u16()?;
        if found != ID_TABLE_FORMAT {
            return Err(IdTableError::Format { found });
        }
        let flags = fields.u16()?;
        let generation = Generation(fields.u32()?);
        let ledger = LedgerId(fields.bytes()?);
        let (first, last) = (fields.u32()?, fields.u32()?);
        let hash = ChainHash(fields.bytes()?);
        let entries = fields.u64()?;
        let reserved = bytes.get(HEADER_FIELDS_BYTES..).unwrap_or_default();
        if flags != 0 || reserved.iter().any(|byte| *byte != 0) {
            return Err(IdTableError::Reserved);
        }
        if first == 0 || first > last || entries > MAX_ID_TABLE_ENTRIES {
            return Err(IdTableError::Impossible { first, last, entries });
        }
        let (first, last) = (SegmentNumber(first), SegmentNumber(last));
        Ok(Self { binding: IdTableBinding { ledger, generation, first, last, hash }, entries })
    }

    /// The header as it is stored.
    #[must_use]
    pub fn encode(&self) -> [u8; ID_BLOCK_BYTES] {
        let mut block = [0; ID_BLOCK_BYTES];
        let fields = self.fields();
        block.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        block
    }

    /// Blocks of entries.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.entries.div_ceil(ID_BLOCK_ENTRIES as u64)
    }

    /// Returns the offset of a block of entries, in bytes. For the block after the last, it is the filter's offset.
    #[must_use]
    pub const fn block_offset(block: u64) -> u64 {
        (block + 1) * ID_BLOCK_BYTES as u64
    }

    /// Bytes of the filter.
    #[must_use]
    pub const fn filter_bytes(&self) -> u64 {
        IdFilter::blocks(self.entries) * ID_FILTER_BLOCK_BYTES as u64
    }

    /// Bytes of the whole table.
    #[must_use]
    pub const fn table_bytes(&self) -> u64 {
        Self::block_offset(self.blocks()) + self.filter_bytes() + ID_TABLE_CHECK_BYTES as u64
    }

    /// Entries that a block holds.
    const fn entries_of(&self, block: u64) -> u64 {
        let before = block.saturating_mul(ID_BLOCK_ENTRIES as u64);
        let rest = self.entries.saturating_sub(before);
        if rest < ID_BLOCK_ENTRIES as u64 { rest } else { ID_BLOCK_ENTRIES as u64 }
    }

    fn fields(&self) -> [u8; HEADER_FIELDS_BYTES] {
        let IdTableBinding { ledger, generation, first, last, hash } = self.binding;
        let fields: [&[u8]; 9] = [
            &ID_TABLE_MAGIC,
            &ID_TABLE_FORMAT.to_le_bytes(),
            &0_u16.to_le_bytes(),
            &generation.0.to_le_bytes(),
            &ledger.0,
            &first.0.to_le_bytes(),
            &last.0.to_le_bytes(),
            &hash.0,
            &self.entries.to_le_bytes(),
        ];
        let mut bytes = [0; HEADER_FIELDS_BYTES];
        bytes.copy_from_slice(&fields.concat());
        bytes
    }
}

/// The keyed hash over a whole table, fed with its bytes in order.
#[derive(Debug, Clone)]
pub struct IdTableCheck(blake3::Hasher);

impl IdTableCheck {
    /// Over nothing yet. The key is that of the ledger's derived state.
    #[must_use]
    pub fn new(index_key: &Secret) -> Self {
        let key = derive(KeyUse::IdTable, index_key.expose(), &[]);
        Self(blake3::Hasher::new_keyed(key.expose()))
    }

    /// The next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the check that stands at the table's end.
    #[must_use]
    pub fn finish(&self) -> [u8; ID_TABLE_CHECK_BYTES] {
        *self.0.finalize().as_bytes()
    }

    /// Checks that this stands at the table's end.
    ///
    /// # Errors
    ///
    /// [`IdTableError::NotAuthentic`].
    pub fn verify(&self, stored: &[u8; ID_TABLE_CHECK_BYTES]) -> Result<(), IdTableError> {
        let fits = self.finish().ct_eq(stored);
        if bool::from(fits) { Ok(()) } else { Err(IdTableError::NotAuthentic) }
    }
}

/// Seals and opens the blocks of one table.
#[derive(Debug)]
pub struct IdBlocks {
    header: IdTableHeader,
    key: Secret,
}

impl IdBlocks {
    /// The blocks of the table with this header; those of another open no more. The key is that of the ledger's derived
    /// state.
    #[must_use]
    pub fn new(index_key: &Secret, header: IdTableHeader) -> Self {
        let key = derive(KeyUse::IdTableBlock, index_key.expose(), &[&header.fields()]);
        Self { header, key }
    }

    /// The table's header.
    #[must_use]
    pub fn header(&self) -> &IdTableHeader {
        &self.header
    }

    /// A block as it is stored: the entries in order of their keys, as many as this block must hold.
    ///
    /// # Errors
    ///
    /// [`IdTableError::Block`] where they are not.
    pub fn seal(&self, block: u64, entries: &[IdEntry]) -> Result<[u8; ID_BLOCK_BYTES], IdTableError> {
        let ascending = entries.is_sorted_by(|one, next| one.key < next.key);
        if !ascending || entries.len() as u64 != self.header.entries_of(block) {
            return Err(IdTableError::Block { block });
        }
        let mut bytes = [0; ID_BLOCK_BYTES];
        let (body, check) = bytes.split_at_mut(CHECKED_BYTES);
        for (slot, entry) in body.chunks_exact_mut(ENTRY_BYTES).zip(entries) {
            slot.copy_from_slice(
                &[&entry.key.0[..], &entry.position.get().to_le_bytes(), &entry.content].concat(),
            );
        }
        let count = u16::try_from(entries.len()).map_err(|_| IdTableError::Block { block })?;
        let after = body.iter_mut().skip(ID_BLOCK_ENTRIES * ENTRY_BYTES);
        after.zip(count.to_le_bytes()).for_each(|(byte, value)| *byte = value);
        check.copy_from_slice(&self.check(block, body));
        Ok(bytes)
    }

    /// Checks a block and reads it.
    ///
    /// # Errors
    ///
    /// [`IdTableError::BlockNotAuthentic`] for any bytes but those sealed for this block of this table.
    pub fn open<'b>(&self, block: u64, bytes: &'b [u8; ID_BLOCK_BYTES]) -> Result<IdBlock<'b>, IdTableError> {
        let (body, check) = bytes.split_at(CHECKED_BYTES);
        if !bool::from(self.check(block, body).ct_eq(check)) {
            return Err(IdTableError::BlockNotAuthentic { block });
        }
        let wrong = IdTableError::Block { block };
        let (entries, trailer) = body.split_at(ID_BLOCK_ENTRIES * ENTRY_BYTES);
        let (count, reserved) = trailer.split_first_chunk().ok_or(wrong)?;
        let count = usize::from(u16::from_le_bytes(*count));
        if count as u64 != self.header.entries_of(block) || reserved.iter().any(|byte| *byte != 0) {
            return Err(wrong);
        }
        let slots = entries.as_chunks().0.get(..count).ok_or(wrong)?;
        Ok(IdBlock { block, slots })
    }

    fn check(&self, block: u64, body: &[u8]) -> [u8; BLOCK_CHECK_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(self.key.expose());
        hasher.update(&block.to_le_bytes()).update(body);
        let mut check = [0; BLOCK_CHECK_BYTES];
        hasher.finalize_xof().fill(&mut check);
        check
    }
}

/// The entries of a block that was checked.
#[derive(Debug, Clone, Copy)]
pub struct IdBlock<'b> {
    block: u64,
    slots: &'b [[u8; ENTRY_BYTES]],
}

impl IdBlock<'_> {
    /// The entry of this identity, if it is here.
    ///
    /// # Errors
    ///
    /// [`IdTableError::Block`] where the entry is none.
    pub fn find(&self, key: &EventKey) -> Result<Option<IdEntry>, IdTableError> {
        let found = self.slots.binary_search_by(|slot| slot.split_at(16).0.cmp(&key.0));
        found.ok().and_then(|index| self.slots.get(index)).map(|slot| self.entry(slot)).transpose()
    }

    /// The entries, in order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = Result<IdEntry, IdTableError>> {
        self.slots.iter().map(|slot| self.entry(slot))
    }

    fn entry(&self, slot: &[u8; ENTRY_BYTES]) -> Result<IdEntry, IdTableError> {
        let mut fields = Fields::new(slot);
        let (key, position, content) = (EventKey(fields.bytes()?), fields.u64()?, fields.bytes()?);
        let position = Position::new(position).ok_or(IdTableError::Block { block: self.block })?;
        Ok(IdEntry { key, position, content })
    }
}

#[cfg(test)]
mod tests;
