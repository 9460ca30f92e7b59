//! Sealed blocks of the index: the events of a range of positions by their labels.
//!
//! Layout: `docs/formats/index.md`.
//!
//! A block is one sorted set of entries. It is cut into pages that are sealed one by one, so that a look-up opens a
//! page or two. An authentic block is complete: an entry that is missing was never there.

mod page;
mod term;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};

use crate::fields::{Fields, ShortField};
use crate::ids::{ChainHash, LedgerId, Position, Secret, TreeHash};
use crate::kdf::{KeyUse, chain_hasher, derive, keyed_hasher};

pub use page::{IndexPage, MAX_INDEX_PAGE_CONTENT_BYTES};
pub use term::{INDEX_OFFSET_BITS, IndexField, IndexTerm, IndexTerms};

/// The magic that a block of the index begins with.
pub const INDEX_MAGIC: [u8; 8] = *b"BITACIDX";
/// The one format that is written, and the one that can be read.
pub const INDEX_FORMAT: u16 = 1;
/// Bytes of a block's header.
pub const INDEX_HEADER_BYTES: usize = 144;
/// Bytes of every page in its place but the last, which may be shorter.
pub const INDEX_PAGE_BYTES: usize = MAX_INDEX_PAGE_CONTENT_BYTES + TAG_BYTES;
/// Positions a block covers at most.
pub const MAX_INDEX_BLOCK_EVENTS: u64 = 1 << INDEX_OFFSET_BITS;
/// Entries of a block at most. An event that carries every label has 23 of them.
pub const MAX_INDEX_BLOCK_ENTRIES: usize = (1 << 22) + 32;
/// Pages of a block at most: a page that is not the last holds more entries than these.
pub const MAX_INDEX_BLOCK_PAGES: usize = MAX_INDEX_BLOCK_ENTRIES / 512 + 1;
/// Bytes of the tag of AES-256-GCM.
const TAG_BYTES: usize = 16;

/// An error in a block of the index. Whatever the reason, the block can be made again from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Too few or too many bytes.
    #[error("found {found} bytes of an index block, expected {expected}")]
    Length {
        /// Bytes expected.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// No block begins so.
    #[error("found {}, expected the first bytes of an index block", hex::encode(.found))]
    Magic {
        /// The bytes there are.
        found: [u8; 8],
    },
    /// A format this version cannot read.
    #[error("found index format {found}, expected {INDEX_FORMAT}")]
    Format {
        /// The format there is.
        found: u16,
    },
    /// A field outside of its limits.
    #[error("{field} of an index block out of its limits: {found}")]
    OutOfRange {
        /// The field's name in the layout.
        field: &'static str,
        /// The value of the field.
        found: u64,
    },
    /// Sealed under another key, in another place, or changed since.
    #[error("part {part} of an index block does not open")]
    NotAuthentic {
        /// 0 for the directory, else the number of the page.
        part: u32,
    },
    /// Authentic, but not as this version writes it.
    #[error("a page of an index block holds what is never written")]
    Malformed,
}

impl From<ShortField> for IndexError {
    fn from(ended: ShortField) -> Self {
        Self::Length { expected: ended.needed, found: ended.found }
    }
}

/// The positions that a block covers, and the frame that its last one stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexExtent {
    /// The ledger.
    pub ledger: LedgerId,
    /// The first position.
    pub first: Position,
    /// The last position.
    pub last: Position,
    /// The chain hash before the frame that holds the last position.
    pub previous: ChainHash,
    /// The root of the tree after that frame.
    pub tree_root: TreeHash,
}

/// The beginning of a block. It is in clear and proven only once the directory has opened under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexHeader {
    /// The range of events that the block covers.
    pub extent: IndexExtent,
    /// Pages behind the directory, at least 1.
    pub pages: u32,
    /// The keyed hash over the extent and every entry: the same log gives the same digest.
    pub digest: [u8; 32],
}

impl IndexHeader {
    /// Reads a header from the first [`INDEX_HEADER_BYTES`] bytes.
    ///
    /// # Errors
    /// An [`IndexError`] for the first field that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        let mut fields = Fields::new(bytes);
        let found = fields.bytes()?;
        if found != INDEX_MAGIC {
            return Err(IndexError::Magic { found });
        }
        let found = fields.u16()?;
        if found != INDEX_FORMAT {
            return Err(IndexError::Format { found });
        }
        let reserved = fields.u16()?;
        if reserved != 0 {
            return Err(IndexError::OutOfRange { field: "reserved bytes", found: reserved.into() });
        }
        let pages = fields.u32()?;
        let ledger = LedgerId(fields.bytes()?);
        let (first, last) = (fields.u64()?, fields.u64()?);
        let out_of_range = |field, found| IndexError::OutOfRange { field, found };
        if !(1..=MAX_INDEX_BLOCK_PAGES).contains(&(pages as usize)) {
            return Err(out_of_range("pages", pages.into()));
        }
        if last.checked_sub(first).is_none_or(|span| span >= MAX_INDEX_BLOCK_EVENTS) {
            return Err(out_of_range("last position", last));
        }
        let extent = IndexExtent {
            ledger,
            first: Position::new(first).ok_or(out_of_range("first position", first))?,
            last: Position::new(last).ok_or(out_of_range("last position", last))?,
            previous: ChainHash(fields.bytes()?),
            tree_root: TreeHash(fields.bytes()?),
        };
        Ok(Self { extent, pages, digest: fields.bytes()? })
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; INDEX_HEADER_BYTES] {
        let mut bytes = [0; INDEX_HEADER_BYTES];
        let (digested, digest) = bytes.split_at_mut(INDEX_HEADER_BYTES - 32);
        digested.copy_from_slice(&digested_header(&self.extent, self.pages));
        digest.copy_from_slice(&self.digest);
        bytes
    }

    /// Returns the offset and length of the sealed directory in the block.
    #[must_use]
    pub fn directory_place(&self) -> (u64, usize) {
        (INDEX_HEADER_BYTES as u64, self.pages as usize * 8 + TAG_BYTES)
    }

    /// Returns the offset and length of a sealed page in a block of `block_bytes`, from page 0; `None` if there is no such page.
    ///
    /// # Errors
    /// [`IndexError::Length`] if the block has no length that fits its pages.
    pub fn page_place(&self, page: u32, block_bytes: u64) -> Result<Option<(u64, usize)>, IndexError> {
        let pages_at = (INDEX_HEADER_BYTES + self.pages as usize * 8 + TAG_BYTES) as u64;
        let last_at = pages_at + u64::from(self.pages - 1) * INDEX_PAGE_BYTES as u64;
        let last_bytes = block_bytes.checked_sub(last_at).and_then(|bytes| usize::try_from(bytes).ok());
        let Some(last_bytes) = last_bytes.filter(|bytes| (TAG_BYTES + 1..=INDEX_PAGE_BYTES).contains(bytes))
        else {
            return Err(IndexError::Length {
                expected: last_at + INDEX_PAGE_BYTES as u64,
                found: block_bytes,
            });
        };
        let at = pages_at + u64::from(page) * INDEX_PAGE_BYTES as u64;
        Ok((page < self.pages)
            .then_some((at, if page + 1 == self.pages { last_bytes } else { INDEX_PAGE_BYTES })))
    }
}

/// The header's bytes before the digest.
fn digested_header(extent: &IndexExtent, pages: u32) -> [u8; INDEX_HEADER_BYTES - 32] {
    let fields: [&[u8]; 9] = [
        &INDEX_MAGIC,
        &INDEX_FORMAT.to_le_bytes(),
        &[0; 2],
        &pages.to_le_bytes(),
        &extent.ledger.0,
        &extent.first.get().to_le_bytes(),
        &extent.last.get().to_le_bytes(),
        &extent.previous.0,
        &extent.tree_root.0,
    ];
    let mut bytes = [0; INDEX_HEADER_BYTES - 32];
    let mut rest = bytes.as_mut_slice();
    for field in fields {
        if let Some((into, after)) = rest.split_at_mut_checked(field.len()) {
            into.copy_from_slice(field);
            rest = after;
        } else {
            rest = &mut [];
        }
    }
    bytes
}

/// The block of these entries, which ascend strictly, whole: header, directory, pages.
///
/// Its key comes from its digest, so the same key never seals two contents, on a cloned machine neither.
///
/// # Errors
/// [`IndexError::OutOfRange`] for more positions or entries than a block takes; [`IndexError::Malformed`] for entries
/// that do not ascend or none.
pub fn seal_index_block(
    derived_state_key: &Secret,
    extent: &IndexExtent,
    entries: &[u64],
) -> Result<(IndexHeader, Vec<u8>), IndexError> {
    if entries.len() > MAX_INDEX_BLOCK_ENTRIES {
        return Err(IndexError::OutOfRange { field: "entries", found: entries.len() as u64 });
    }
    let span = extent.last.get().checked_sub(extent.first.get());
    if span.is_none_or(|span| span >= MAX_INDEX_BLOCK_EVENTS) {
        return Err(IndexError::OutOfRange { field: "last position", found: extent.last.get() });
    }
    let pages = page::write_pages(entries)?;
    let count = u32::try_from(pages.firsts.len()).map_err(|_| IndexError::Malformed)?;
    let mut digest = keyed_hasher(KeyUse::IndexDigest, derived_state_key.expose(), &[]);
    digest.update(&digested_header(extent, count)).update(&pages.contents);
    let header = IndexHeader { extent: *extent, pages: count, digest: *digest.finalize().as_bytes() };
    let header_bytes = header.encode();
    let cipher = cipher(derived_state_key, &header);
    let directory: Vec<u8> = pages.firsts.iter().flat_map(|first| first.to_le_bytes()).collect();
    let mut block = Vec::with_capacity(
        INDEX_HEADER_BYTES + directory.len() + pages.contents.len() + (pages.firsts.len() + 1) * TAG_BYTES,
    );
    block.extend_from_slice(&header_bytes);
    let contents = pages.contents.chunks(MAX_INDEX_PAGE_CONTENT_BYTES);
    for (part, content) in (0_u32..).zip(std::iter::once(directory.as_slice()).chain(contents)) {
        let start = block.len();
        block.extend_from_slice(content);
        let body = block.get_mut(start..).unwrap_or_default();
        let tag = cipher
            .encrypt_inout_detached(&nonce(part), &header_bytes, body.into())
            .map_err(|_| IndexError::Malformed)?;
        block.extend_from_slice(&tag);
    }
    Ok((header, block))
}

/// The digest of an index: the same events give the same, however often the index was made again.
#[must_use]
pub fn index_state_digest<'h>(blocks: impl Iterator<Item = &'h IndexHeader>) -> [u8; 32] {
    let mut hasher = chain_hasher(KeyUse::IndexState);
    for block in blocks {
        hasher.update(&block.digest);
    }
    *hasher.finalize().as_bytes()
}

/// Opens one block. Holds its directory, 8 bytes a page.
pub struct IndexBlock {
    header: IndexHeader,
    header_bytes: [u8; INDEX_HEADER_BYTES],
    cipher: Aes256Gcm,
    /// The first entry of each page.
    firsts: Vec<u64>,
    block_bytes: u64,
}

impl IndexBlock {
    /// The block with this header and sealed directory, `block_bytes` long in all.
    ///
    /// # Errors
    /// An [`IndexError`] for anything but a block that [`seal_index_block`] made under this key.
    pub fn open(
        derived_state_key: &Secret,
        header: IndexHeader,
        directory: &[u8],
        block_bytes: u64,
    ) -> Result<Self, IndexError> {
        header.page_place(0, block_bytes)?;
        let (_, expected) = header.directory_place();
        if directory.len() != expected {
            return Err(IndexError::Length { expected: expected as u64, found: directory.len() as u64 });
        }
        let (header_bytes, cipher) = (header.encode(), cipher(derived_state_key, &header));
        let opened = open_part(&cipher, &header_bytes, 0, directory)?;
        let firsts: Vec<u64> = opened
            .chunks_exact(8)
            .filter_map(|bytes| bytes.try_into().ok().map(u64::from_le_bytes))
            .collect();
        if !firsts.is_sorted_by(|one, next| one < next) {
            return Err(IndexError::Malformed);
        }
        Ok(Self { header, header_bytes, cipher, firsts, block_bytes })
    }

    /// The header, proven.
    #[must_use]
    pub fn header(&self) -> &IndexHeader {
        &self.header
    }

    /// Returns the pages that may hold entries of `range`.
    #[must_use]
    pub fn pages_with(&self, range: &RangeInclusive<u64>) -> std::ops::Range<u32> {
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let begin = self.firsts.partition_point(|first| first <= range.start()).saturating_sub(1);
        let end = self.firsts.partition_point(|first| first <= range.end());
        number(begin)..number(end)
    }

    /// Returns the offset and length of a sealed page; `None` if there is no such page.
    #[must_use]
    pub fn page_place(&self, page: u32) -> Option<(u64, usize)> {
        self.header.page_place(page, self.block_bytes).ok().flatten()
    }

    /// The page with this number, from its sealed bytes.
    ///
    /// # Errors
    /// [`IndexError::NotAuthentic`] for any bytes but that page's; [`IndexError::Malformed`].
    pub fn open_page(&self, page: u32, sealed: &[u8]) -> Result<IndexPage, IndexError> {
        let opened = open_part(&self.cipher, &self.header_bytes, page.saturating_add(1), sealed)?;
        let first = self.firsts.get(page as usize).ok_or(IndexError::Malformed)?;
        let page = IndexPage::parse(opened)?;
        if page.first() == *first { Ok(page) } else { Err(IndexError::Malformed) }
    }
}

fn open_part(cipher: &Aes256Gcm, header: &[u8], part: u32, sealed: &[u8]) -> Result<Vec<u8>, IndexError> {
    let not_authentic = IndexError::NotAuthentic { part };
    let (ciphertext, tag) = sealed.split_last_chunk::<TAG_BYTES>().ok_or(not_authentic)?;
    let mut opened = ciphertext.to_vec();
    cipher
        .decrypt_inout_detached(&nonce(part), header, opened.as_mut_slice().into(), tag.into())
        .map_err(|_| not_authentic)?;
    Ok(opened)
}

fn cipher(derived_state_key: &Secret, header: &IndexHeader) -> Aes256Gcm {
    let key = derive(KeyUse::IndexBlock, derived_state_key.expose(), &[&header.digest]);
    Aes256Gcm::new(key.expose().into())
}

fn nonce(part: u32) -> Nonce<aes_gcm::aead::consts::U12> {
    let mut nonce = [0; 12];
    let (number, _) = nonce.split_at_mut(4);
    number.copy_from_slice(&part.to_le_bytes());
    nonce.into()
}
