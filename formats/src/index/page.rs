//! The pages of a block: entries as differences, in pieces that are read on their own.

use std::ops::RangeInclusive;

use super::{IndexError, MAX_INDEX_BLOCK_ENTRIES};

/// Bytes of a page's content before it is sealed; all pages but the last are filled up to it with zeros.
pub const MAX_INDEX_PAGE_CONTENT_BYTES: usize = 8_176;
/// Bytes of a page's header: the count of its entries, and the first of them.
const PAGE_HEADER_BYTES: usize = 10;
/// The longest difference, 64 bits in groups of 7.
const MAX_DIFFERENCE_BYTES: usize = 10;

/// The contents of all pages.
pub(super) struct IndexPages {
    /// The first entry of each page.
    pub(super) firsts: Vec<u64>,
    /// The pages one behind the other, the last one without filling.
    pub(super) contents: Vec<u8>,
}

/// Cuts entries, which ascend strictly, into pages.
pub(super) fn write_pages(entries: &[u64]) -> Result<IndexPages, IndexError> {
    let mut pages = IndexPages { firsts: Vec::new(), contents: Vec::with_capacity(entries.len() * 2) };
    let mut rest = entries;
    while let Some((first, following)) = rest.split_first() {
        let filled = pages.firsts.len() * MAX_INDEX_PAGE_CONTENT_BYTES;
        pages.contents.resize(filled, 0);
        pages.firsts.push(*first);
        let taken = write_page(*first, following, &mut pages.contents)?;
        rest = following.get(taken..).unwrap_or_default();
    }
    if pages.firsts.is_empty() { Err(IndexError::Malformed) } else { Ok(pages) }
}

/// Appends one page; returns the number of the following entries that it took.
fn write_page(first: u64, following: &[u64], out: &mut Vec<u8>) -> Result<usize, IndexError> {
    let start = out.len();
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&first.to_le_bytes());
    let mut taken = 0;
    let mut before = first;
    for entry in following {
        if out.len() - start + MAX_DIFFERENCE_BYTES > MAX_INDEX_PAGE_CONTENT_BYTES {
            break;
        }
        let mut difference =
            entry.checked_sub(before).filter(|step| *step > 0).ok_or(IndexError::Malformed)?;
        while difference >= 0x80 {
            out.push((difference & 0x7f) as u8 | 0x80);
            difference >>= 7;
        }
        out.push((difference & 0x7f) as u8);
        before = *entry;
        taken += 1;
    }
    let count = u16::try_from(taken + 1).map_err(|_| IndexError::Malformed)?;
    if let Some(place) = out.get_mut(start..start + 2) {
        place.copy_from_slice(&count.to_le_bytes());
    }
    Ok(taken)
}

/// A page that was opened.
#[derive(Debug)]
pub struct IndexPage {
    first: u64,
    count: usize,
    content: Vec<u8>,
}

impl IndexPage {
    /// Reads a page's beginning. [`Self::find`] reads the rest.
    pub(super) fn parse(content: Vec<u8>) -> Result<Self, IndexError> {
        let (count, rest) = content.split_first_chunk().ok_or(IndexError::Malformed)?;
        let (first, _) = rest.split_first_chunk().ok_or(IndexError::Malformed)?;
        let (count, first) = (usize::from(u16::from_le_bytes(*count)), u64::from_le_bytes(*first));
        if count == 0 || count > MAX_INDEX_BLOCK_ENTRIES || content.len() > MAX_INDEX_PAGE_CONTENT_BYTES {
            return Err(IndexError::Malformed);
        }
        Ok(Self { first, count, content })
    }

    /// The first entry.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Shows the entries that lie in `range`, in their order.
    ///
    /// # Errors
    /// [`IndexError::Malformed`] for differences that no block holds.
    pub fn find(&self, range: &RangeInclusive<u64>, mut found: impl FnMut(u64)) -> Result<(), IndexError> {
        let mut bytes = self.content.get(PAGE_HEADER_BYTES..).unwrap_or_default().iter();
        let mut entry = self.first;
        for number in 0..self.count {
            if number > 0 {
                let difference = read_difference(&mut bytes).ok_or(IndexError::Malformed)?;
                entry = entry.checked_add(difference).ok_or(IndexError::Malformed)?;
            }
            if entry > *range.end() {
                break;
            }
            if entry >= *range.start() {
                found(entry);
            }
        }
        Ok(())
    }
}

fn read_difference(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut difference = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.next()?;
        let bits = u64::from(byte & 0x7f);
        // The tenth group has one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        difference |= bits << shift;
        if byte < 0x80 {
            return (difference > 0).then_some(difference);
        }
    }
    None
}
