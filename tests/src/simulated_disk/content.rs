//! The bytes of a file, sparse, in pages that clones share.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that a disk writes whole or not at all.
pub(super) const SECTOR_BYTES: u64 = 512;
/// Bytes of the unit in which space is given out, and which clones share.
pub(super) const PAGE_BYTES: u64 = 4_096;
pub(super) const SECTORS_PER_PAGE: u64 = PAGE_BYTES / SECTOR_BYTES;

pub(super) type Sector = [u8; SECTOR_BYTES as usize];
type DiskPage = [u8; PAGE_BYTES as usize];

/// A missing page is a hole of zeros that takes no space; bytes past the length are zero in every page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    bytes: u64,
    pages: BTreeMap<u64, Arc<DiskPage>>,
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.bytes
    }

    /// Pages that take space.
    pub(super) fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Returns `true` if writing this page would need no new space.
    pub(super) fn has_page(&self, page: u64) -> bool {
        self.pages.contains_key(&page)
    }

    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let wanted = (buf.len() as u64).min(self.bytes.saturating_sub(offset));
        let buf = &mut buf[..wanted as usize];
        for_each_page(offset, buf.len(), |page, in_page, in_buf| match self.pages.get(&page) {
            Some(page) => buf[in_buf].copy_from_slice(&page[in_page]),
            None => buf[in_buf].fill(0),
        });
        wanted as usize
    }

    pub(super) fn write(&mut self, data: &[u8], offset: u64) {
        for_each_page(offset, data.len(), |page, in_page, in_data| {
            self.page_mut(page)[in_page].copy_from_slice(&data[in_data]);
        });
        self.bytes = self.bytes.max(offset + data.len() as u64);
    }

    pub(super) fn set_len(&mut self, bytes: u64) {
        if bytes < self.bytes {
            self.bytes = bytes;
            self.clear_past_end();
        }
        self.bytes = bytes;
    }

    /// Zeros again what a sector that was put brought from past the end.
    pub(super) fn clear_past_end(&mut self) {
        self.pages.split_off(&self.bytes.div_ceil(PAGE_BYTES));
        let in_last_page = (self.bytes % PAGE_BYTES) as usize;
        if in_last_page != 0
            && let Some(last) = self.pages.get_mut(&(self.bytes / PAGE_BYTES))
            && last[in_last_page..].iter().any(|byte| *byte != 0)
        {
            Arc::make_mut(last)[in_last_page..].fill(0);
        }
    }

    pub(super) fn sector(&self, sector: u64) -> Sector {
        let mut copy = [0; SECTOR_BYTES as usize];
        if let Some(page) = self.pages.get(&(sector / SECTORS_PER_PAGE)) {
            copy.copy_from_slice(&page[place_in_page(sector)]);
        }
        copy
    }

    /// Leaves the length alone; the page takes space from then on, also for zeros.
    pub(super) fn put_sector(&mut self, sector: u64, bytes: &Sector) {
        self.page_mut(sector / SECTORS_PER_PAGE)[place_in_page(sector)].copy_from_slice(bytes);
    }

    /// Takes over a whole page, hole or not; leaves the length alone.
    pub(super) fn put_page_of(&mut self, page: u64, other: &Self) {
        match other.pages.get(&page) {
            Some(bytes) => self.pages.insert(page, Arc::clone(bytes)),
            None => self.pages.remove(&page),
        };
    }

    fn page_mut(&mut self, page: u64) -> &mut DiskPage {
        Arc::make_mut(self.pages.entry(page).or_insert_with(|| Arc::new([0; PAGE_BYTES as usize])))
    }
}

fn place_in_page(sector: u64) -> std::ops::Range<usize> {
    let start = (sector % SECTORS_PER_PAGE * SECTOR_BYTES) as usize;
    start..start + SECTOR_BYTES as usize
}

/// Cuts the range at page boundaries: page number, place in the page, place in the range.
fn for_each_page(
    offset: u64,
    len: usize,
    mut act: impl FnMut(u64, std::ops::Range<usize>, std::ops::Range<usize>),
) {
    let mut done = 0;
    while done < len {
        let at = offset + done as u64;
        let in_page = (at % PAGE_BYTES) as usize;
        let step = (PAGE_BYTES as usize - in_page).min(len - done);
        act(at / PAGE_BYTES, in_page..in_page + step, done..done + step);
        done += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(content: &Content) -> Vec<u8> {
        let mut bytes = vec![0xee; content.len() as usize + 10];
        let read = content.read(&mut bytes, 0);
        bytes.truncate(read);
        bytes
    }

    #[test]
    fn reads_what_was_written_across_pages() {
        let data: Vec<u8> = (0..10_000_u32).map(|number| number as u8).collect();
        let mut content = Content::default();
        content.write(&data, 3_000);
        assert_eq!(content.len(), 13_000);
        assert_eq!(content.pages(), 4);
        let mut expected = vec![0; 3_000];
        expected.extend(&data);
        assert_eq!(read_all(&content), expected);
        let mut tail = [0; 8];
        assert_eq!(content.read(&mut tail, 12_995), 5);
        assert_eq!(content.read(&mut tail, 13_000), 0);
        assert_eq!(content.read(&mut tail, u64::MAX), 0);
    }

    #[test]
    fn a_cut_leaves_zeros_when_it_grows_again() {
        let mut content = Content::default();
        content.write(&[7; 9_000], 0);
        content.set_len(4_100);
        assert_eq!(content.pages(), 2);
        content.set_len(9_000);
        let mut expected = vec![7; 4_100];
        expected.resize(9_000, 0);
        assert_eq!(read_all(&content), expected);
        content.set_len(0);
        assert_eq!((content.pages(), content.len()), (0, 0));
    }

    #[test]
    fn a_hole_takes_no_space_and_reads_as_zeros() {
        let mut content = Content::default();
        content.set_len(1 << 40);
        assert_eq!(content.pages(), 0);
        let mut bytes = [1; 6];
        assert_eq!(content.read(&mut bytes, 1 << 39), 6);
        assert_eq!(bytes, [0; 6]);
    }

    #[test]
    fn clones_do_not_see_later_writes() {
        let mut content = Content::default();
        content.write(&[1; 100], 0);
        let before = content.clone();
        content.write(&[2; 10], 50);
        assert_eq!(read_all(&before), [1; 100]);
        assert_eq!(content.sector(0)[45..55], [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    }
}
