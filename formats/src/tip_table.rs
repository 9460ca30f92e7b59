//! The tips at a segment's end: chain, tree, and the last event of each stream.
//!
//! Layout: `docs/formats/tip_table.md`.
//!
//! Everything in it can be made again from the log. It only spares an opening the reading of old segments; where it is
//! in doubt, they are read again.

#[cfg(test)]
mod tests;

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce, Tag};
use subtle::ConstantTimeEq;

use crate::fields::{Fields, ShortField};
use crate::kdf::derive;
use crate::{
    ChainHash, ChainTip, Epoch, Frontier, Generation, KeyUse, LedgerId, Micros, Position, Secret, SegmentEnd,
    SegmentNumber, Signature, StreamKey, StreamVersion, TreeHash,
};

/// The magic that a tip table begins with.
pub const TIP_TABLE_MAGIC: [u8; 8] = *b"BITACTIP";
/// The one format that is written, and the one that can be read.
pub const TIP_TABLE_FORMAT: u16 = 1;
/// Entries of a chunk; only the last chunk of a table holds fewer.
pub const TIP_CHUNK_ENTRIES: usize = 2_048;
/// Entries of one table.
pub const MAX_TIP_TABLE_ENTRIES: u64 = 1 << 32;
/// Bytes of the largest header.
pub const MAX_TIP_TABLE_HEADER_BYTES: usize = FIXED_BYTES + Frontier::MAX_PEAKS * 32;

/// Bytes of a header before the peaks.
const FIXED_BYTES: usize = 208;
/// Stream, version, position.
const ENTRY_BYTES: usize = 16 + 8 + 8;
const SIV_BYTES: usize = 16;
const TAG_BYTES: usize = 16;

/// An error in the bytes of a tip table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TipTableError {
    /// No tip table begins so.
    #[error("found {}, expected the first bytes of a tip table", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found tip table format {found}, expected {TIP_TABLE_FORMAT}; a newer version may read it")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// The file is longer or shorter than its header says.
    #[error("found a tip table of {found} bytes, expected {expected}")]
    Length {
        /// Bytes by the header.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The header's numbers cannot be those of a table.
    #[error("the header of a tip table contradicts itself")]
    Impossible,
    /// The chunk was not sealed for this place of this table, or with another keyring.
    #[error("chunk {chunk} of the tip table is not what was written, or was written with another keyring")]
    NotAuthentic {
        /// The chunk's number, from 0.
        chunk: u64,
    },
    /// Streams out of order, a number 0, too few or too many entries.
    #[error("chunk {chunk} of the tip table breaks its own rules")]
    Chunk {
        /// The chunk's number, from 0.
        chunk: u64,
    },
}

impl From<ShortField> for TipTableError {
    fn from(ended: ShortField) -> Self {
        Self::Length { expected: ended.needed, found: ended.found }
    }
}

/// The last event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TipEntry {
    /// The stream.
    pub stream: StreamKey,
    /// Its version.
    pub version: StreamVersion,
    /// The position of its last event.
    pub position: Position,
}

/// The beginning of a table: the place of the log at the end of its last segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TipTableHeader {
    /// The first segment whose streams it holds; those of all through the last one are here.
    pub first: SegmentNumber,
    /// The end of the last segment, with which the next one goes on.
    pub end: SegmentEnd,
    /// The tree at that place.
    pub frontier: Frontier,
    /// The number of streams in the table.
    pub entries: u64,
}

impl TipTableHeader {
    /// Reads the header that the bytes begin with. It is not authentic before a chunk was opened under it.
    ///
    /// # Errors
    /// [`TipTableError`] for anything but a header that this version writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, TipTableError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != TIP_TABLE_MAGIC {
            return Err(TipTableError::Magic { found });
        }
        let found = fields.u16()?;
        if found != TIP_TABLE_FORMAT {
            return Err(TipTableError::Format { found });
        }
        let impossible = TipTableError::Impossible;
        let flags = fields.u16()?;
        let first = SegmentNumber(fields.u32()?);
        let ledger = LedgerId(fields.bytes()?);
        let (generation, epoch) = (Generation(fields.u32()?), Epoch(fields.u32()?));
        let number = SegmentNumber(fields.u32()?);
        let peaks = usize::try_from(fields.u32()?).map_err(|_| impossible)?;
        let next_position = Position::new(fields.u64()?).ok_or(impossible)?;
        let time = Micros(fields.u64()?);
        let tree_size = fields.u64()?;
        let tree_root = TreeHash(fields.bytes()?);
        let tip = ChainTip { hash: ChainHash(fields.bytes()?), signature: Signature(fields.bytes()?) };
        let entries = fields.u64()?;
        if peaks > Frontier::MAX_PEAKS || flags != 0 || entries > MAX_TIP_TABLE_ENTRIES {
            return Err(impossible);
        }
        let mut hashes = Vec::with_capacity(peaks);
        for _ in 0..peaks {
            hashes.push(TreeHash(fields.bytes()?));
        }
        let frontier = Frontier::from_parts(tree_size, &hashes).ok_or(impossible)?;
        let fits = frontier.root() == tree_root
            && next_position.get() - 1 == tree_size
            && first.0 > 0
            && first <= number
            && entries <= tree_size;
        let end =
            SegmentEnd { ledger, generation, epoch, number, next_position, time, tree_size, tree_root, tip };
        if fits { Ok(Self { first, end, frontier, entries }) } else { Err(impossible) }
    }

    /// The header as it is stored.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self { first, end, frontier, entries } = self;
        let peaks = u32::try_from(frontier.peaks().len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(self.stored_bytes());
        bytes.extend_from_slice(&TIP_TABLE_MAGIC);
        bytes.extend_from_slice(&TIP_TABLE_FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&first.0.to_le_bytes());
        bytes.extend_from_slice(&end.ledger.0);
        bytes.extend_from_slice(&end.generation.0.to_le_bytes());
        bytes.extend_from_slice(&end.epoch.0.to_le_bytes());
        bytes.extend_from_slice(&end.number.0.to_le_bytes());
        bytes.extend_from_slice(&peaks.to_le_bytes());
        bytes.extend_from_slice(&end.next_position.get().to_le_bytes());
        bytes.extend_from_slice(&end.time.0.to_le_bytes());
        bytes.extend_from_slice(&end.tree_size.to_le_bytes());
        bytes.extend_from_slice(&end.tree_root.0);
        bytes.extend_from_slice(&end.tip.hash.0);
        bytes.extend_from_slice(&end.tip.signature.0);
        bytes.extend_from_slice(&entries.to_le_bytes());
        frontier.peaks().iter().for_each(|peak| bytes.extend_from_slice(&peak.0));
        bytes
    }

    /// Bytes of the header.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        FIXED_BYTES + self.frontier.peaks().len() * 32
    }

    /// Chunks of the table; at least one, so that the header is always under a seal.
    #[must_use]
    pub const fn chunks(&self) -> u64 {
        let chunks = self.entries.div_ceil(TIP_CHUNK_ENTRIES as u64);
        if chunks == 0 { 1 } else { chunks }
    }

    /// Bytes of a chunk.
    #[must_use]
    pub fn chunk_bytes(&self, chunk: u64) -> usize {
        SIV_BYTES + self.entries_of(chunk) * ENTRY_BYTES + TAG_BYTES
    }

    /// Bytes of the whole table.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        let overhead = self.chunks() * (SIV_BYTES + TAG_BYTES) as u64;
        self.stored_bytes() as u64 + overhead + self.entries * ENTRY_BYTES as u64
    }

    fn entries_of(&self, chunk: u64) -> usize {
        let before = chunk.saturating_mul(TIP_CHUNK_ENTRIES as u64);
        let rest = self.entries.saturating_sub(before);
        usize::try_from(rest).unwrap_or(usize::MAX).min(TIP_CHUNK_ENTRIES)
    }
}

/// Seals and opens the chunks of one table. The contents under a header are always the same. The keys therefore follow
/// from the header and the contents, without chance.
#[derive(Debug)]
pub struct TipChunks {
    index_key: Secret,
    header: TipTableHeader,
    header_bytes: Vec<u8>,
}

impl TipChunks {
    /// The chunks of the table with this header; those of another open no more. The key is that of the ledger's derived
    /// state.
    #[must_use]
    pub fn new(index_key: Secret, header: TipTableHeader) -> Self {
        let header_bytes = header.encode();
        Self { index_key, header, header_bytes }
    }

    /// The table's header.
    #[must_use]
    pub fn header(&self) -> &TipTableHeader {
        &self.header
    }

    /// A chunk as it is stored: the entries in order of their streams, as many as this chunk must hold.
    ///
    /// # Errors
    /// [`TipTableError::Chunk`] where they are not.
    pub fn seal(&self, chunk: u64, entries: &[TipEntry]) -> Result<Vec<u8>, TipTableError> {
        let wrong = TipTableError::Chunk { chunk };
        let ascending = entries.is_sorted_by(|one, next| one.stream < next.stream);
        if !ascending || entries.len() != self.header.entries_of(chunk) {
            return Err(wrong);
        }
        let mut plain = Vec::with_capacity(entries.len() * ENTRY_BYTES);
        for entry in entries {
            plain.extend_from_slice(&entry.stream.0);
            plain.extend_from_slice(&entry.version.get().to_le_bytes());
            plain.extend_from_slice(&entry.position.get().to_le_bytes());
        }
        let siv = self.siv(chunk, &plain);
        let cipher = self.cipher(chunk, &siv);
        let sealed = cipher.encrypt_inout_detached(&Nonce::default(), &[], plain.as_mut_slice().into());
        let tag = sealed.map_err(|_| wrong)?;
        Ok([siv.as_slice(), &plain, &tag].concat())
    }

    /// Opens a chunk.
    ///
    /// # Errors
    /// [`TipTableError::NotAuthentic`] for any bytes but those sealed for this chunk of this table.
    pub fn open(&self, chunk: u64, bytes: &[u8]) -> Result<Vec<TipEntry>, TipTableError> {
        let forged = TipTableError::NotAuthentic { chunk };
        let (siv, rest) = bytes.split_first_chunk::<SIV_BYTES>().ok_or(forged)?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG_BYTES>().ok_or(forged)?;
        let mut plain = ciphertext.to_vec();
        let opened = self.cipher(chunk, siv).decrypt_inout_detached(
            &Nonce::default(),
            &[],
            plain.as_mut_slice().into(),
            &Tag::from(*tag),
        );
        if opened.is_err() || !bool::from(self.siv(chunk, &plain).ct_eq(siv)) {
            return Err(forged);
        }
        let wrong = TipTableError::Chunk { chunk };
        let (slots, rest) = plain.as_chunks::<ENTRY_BYTES>();
        if slots.len() != self.header.entries_of(chunk) || !rest.is_empty() {
            return Err(wrong);
        }
        slots.iter().map(|slot| entry(slot).ok_or(wrong)).collect()
    }

    fn siv(&self, chunk: u64, plain: &[u8]) -> [u8; SIV_BYTES] {
        let fields: [&[u8]; 3] = [&self.header_bytes, &chunk.to_le_bytes(), plain];
        let derived = derive(KeyUse::TipTableSiv, self.index_key.expose(), &fields);
        let mut siv = [0; SIV_BYTES];
        siv.iter_mut().zip(derived.expose()).for_each(|(byte, value)| *byte = *value);
        siv
    }

    fn cipher(&self, chunk: u64, siv: &[u8; SIV_BYTES]) -> Aes256Gcm {
        let fields: [&[u8]; 3] = [&self.header_bytes, &chunk.to_le_bytes(), siv];
        let key = derive(KeyUse::TipTable, self.index_key.expose(), &fields);
        Aes256Gcm::new(key.expose().into())
    }
}

fn entry(slot: &[u8; ENTRY_BYTES]) -> Option<TipEntry> {
    let mut fields = Fields::new(slot);
    let stream = StreamKey(fields.bytes().ok()?);
    let version = StreamVersion::new(fields.u64().ok()?)?;
    let position = Position::new(fields.u64().ok()?)?;
    Some(TipEntry { stream, version, position })
}
