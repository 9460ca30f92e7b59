//! One file: its visible content, its durable content, and the changes between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::content::{Content, SECTOR_BYTES, SECTORS_PER_PAGE, Sector};
use crate::seeded::SeededRandom;

/// A change of a file that is not yet durable.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Write { offset: u64, data: Arc<[u8]> },
    SetLen { bytes: u64 },
}

impl Change {
    /// The length of a file of `before` bytes after this change.
    pub(super) fn length_after(&self, before: u64) -> u64 {
        match self {
            Self::Write { offset, data } => before.max(offset + data.len() as u64),
            Self::SetLen { bytes } => *bytes,
        }
    }
}

/// The state of one sector after one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// The number of the change since the last sync, from 1; 0 is what is durable.
    pub(super) change: usize,
    /// `true` if the change cut bytes off here: it then comes with the length or not at all.
    pub(super) is_cut: bool,
    pub(super) bytes: Sector,
}

/// A file's two faces: the page cache and the platter.
#[derive(Debug, Clone, Default)]
pub(super) struct FileNode {
    /// The content that everybody reads.
    live: Content,
    /// The content that a crash cannot take.
    durable: Content,
    /// From the last sync on, oldest first: what makes `live` of `durable` and `lost`.
    unsynced: Vec<Change>,
    /// The length that `unsynced` starts from.
    clean_bytes: u64,
    /// Sectors whose sync failed: the cache shows these bytes and calls them clean, the platter has others.
    lost: BTreeMap<u64, Sector>,
}

impl FileNode {
    /// A file that has these bytes and owes nothing to the platter.
    pub(super) fn settled(content: Content) -> Self {
        Self { clean_bytes: content.len(), durable: content.clone(), live: content, ..Self::default() }
    }

    pub(super) fn live(&self) -> &Content {
        &self.live
    }

    pub(super) fn durable(&self) -> &Content {
        &self.durable
    }

    pub(super) fn unsynced(&self) -> &[Change] {
        &self.unsynced
    }

    pub(super) fn write(&mut self, data: &Arc<[u8]>, offset: u64) {
        self.live.write(data, offset);
        self.unsynced.push(Change::Write { offset, data: Arc::clone(data) });
    }

    pub(super) fn set_len(&mut self, bytes: u64) {
        self.live.set_len(bytes);
        self.unsynced.push(Change::SetLen { bytes });
    }

    /// Makes everything durable that is dirty. Bytes that an earlier failed sync lost are not dirty, and stay lost.
    pub(super) fn sync(&mut self) {
        self.write_back(|_| true, true);
    }

    /// A sync that fails: only some sectors reach the platter (`None`: none), and the cache calls all of them clean.
    pub(super) fn sync_failing(&mut self, choices: Option<&mut SeededRandom>) {
        let Some(random) = choices else {
            return self.write_back(|_| false, false);
        };
        // A cut arrives with its length and whole, or not at all.
        let with_length = random.chance(1, 2);
        let uncut = self.unsynced.iter().fold(u64::MAX, |least, change| match change {
            Change::SetLen { bytes } => least.min(*bytes),
            Change::Write { .. } => least,
        });
        let is_uncut = |sector: u64| (sector + 1) * SECTOR_BYTES <= uncut;
        self.write_back(
            |sector| if is_uncut(sector) { random.chance(1, 2) } else { with_length },
            with_length,
        );
    }

    /// The cache forgets what it believes to be on the platter: what was lost now reads as it is there.
    pub(super) fn evict_clean(&mut self) {
        if self.unsynced.is_empty() {
            *self = Self::settled(self.durable.clone());
            return;
        }
        let dirty = self.dirty_sectors();
        let bytes = self.live.len();
        let is_evicted = |sector: u64| sector * SECTOR_BYTES < bytes && !is_marked(&dirty, sector);
        for sector in self.lost.extract_if(.., |sector, _| is_evicted(*sector)).map(|(sector, _)| sector) {
            self.live.put_sector(sector, &self.durable.sector(sector));
        }
        self.live.clear_past_end();
    }

    /// Turns one bit over wherever the byte is kept, as a rotten medium shows it to everybody.
    pub(super) fn flip_bit(&mut self, offset: u64, bit: u32) {
        let sector = offset / SECTOR_BYTES;
        let in_sector = (offset % SECTOR_BYTES) as usize;
        for content in [&mut self.live, &mut self.durable] {
            if offset < content.len() {
                let mut bytes = content.sector(sector);
                bytes[in_sector] ^= 1 << bit;
                content.put_sector(sector, &bytes);
            }
        }
        if let Some(bytes) = self.lost.get_mut(&sector) {
            bytes[in_sector] ^= 1 << bit;
        }
        for change in &mut self.unsynced {
            if let Change::Write { offset: start, data } = change
                && let Some(byte) =
                    offset.checked_sub(*start).and_then(|at| Arc::make_mut(data).get_mut(at as usize))
            {
                *byte ^= 1 << bit;
            }
        }
        let shown = self.live.sector(sector)[in_sector];
        let timeline = self.timelines().remove(&sector).unwrap_or_default();
        if self.newest(&timeline, sector)[in_sector] != shown {
            // In a hole that is not on the platter yet there is nothing that could rot: it counts as written.
            self.unsynced.push(Change::Write { offset, data: Arc::from([shown]) });
        }
    }

    /// Every dirty sector with all it has been since the last sync, the durable one first.
    pub(super) fn timelines(&self) -> BTreeMap<u64, Vec<Version>> {
        let mut timelines: BTreeMap<u64, Vec<Version>> = BTreeMap::new();
        let mut length = self.clean_bytes;
        for (index, change) in self.unsynced.iter().enumerate() {
            let number = index + 1;
            match change {
                Change::Write { offset, data } => {
                    for sector in sectors_of(*offset, data.len() as u64) {
                        let versions = self.timeline_of(&mut timelines, sector);
                        let mut bytes = self.newest(versions, sector);
                        overlay(&mut bytes, sector, data, *offset);
                        versions.push(Version { change: number, is_cut: false, bytes });
                    }
                }
                Change::SetLen { bytes: end } if *end < length => {
                    for sector in self.sectors_in_use(*end, length, |page| has_page(&timelines, page)) {
                        let versions = self.timeline_of(&mut timelines, sector);
                        let mut bytes = self.newest(versions, sector);
                        let kept = end.saturating_sub(sector * SECTOR_BYTES) as usize;
                        bytes[kept..].fill(0);
                        versions.push(Version { change: number, is_cut: true, bytes });
                    }
                }
                Change::SetLen { .. } => {}
            }
            length = change.length_after(length);
        }
        timelines
    }

    fn timeline_of<'t>(
        &self,
        timelines: &'t mut BTreeMap<u64, Vec<Version>>,
        sector: u64,
    ) -> &'t mut Vec<Version> {
        timelines
            .entry(sector)
            .or_insert_with(|| vec![Version { change: 0, is_cut: false, bytes: self.durable.sector(sector) }])
    }

    /// Returns the cache's content of the sector after these versions.
    fn newest(&self, versions: &[Version], sector: u64) -> Sector {
        match versions {
            [_, .., newest] => newest.bytes,
            _ => self.lost.get(&sector).copied().unwrap_or_else(|| self.durable.sector(sector)),
        }
    }

    fn write_back(&mut self, mut reaches_platter: impl FnMut(u64) -> bool, with_length: bool) {
        let bytes = self.platter_length(if with_length { self.unsynced.len() } else { 0 });
        let dirty = self.dirty_sectors();
        for (page, mask) in &dirty {
            let reached: Vec<u64> =
                marked_sectors(*page, *mask).filter(|sector| reaches_platter(*sector)).collect();
            if reached.len() as u64 == SECTORS_PER_PAGE {
                self.durable.put_page_of(*page, &self.live);
            } else {
                for sector in reached {
                    self.durable.put_sector(sector, &self.live.sector(sector));
                }
            }
        }
        self.durable.set_len(bytes);
        self.durable.clear_past_end();
        for sector in dirty.iter().flat_map(|(page, mask)| marked_sectors(*page, *mask)) {
            let shown = self.live.sector(sector);
            if self.durable.sector(sector) == shown {
                self.lost.remove(&sector);
            } else {
                self.lost.insert(sector, shown);
            }
        }
        self.unsynced.clear();
        self.clean_bytes = self.live.len();
    }

    /// The length on the platter once so many of the unsynced changes have arrived. A length that a failed sync lost
    /// comes back only with a change that alters it again, or needs it.
    pub(super) fn platter_length(&self, changes: usize) -> u64 {
        let (mut shown, mut arrived) = (self.clean_bytes, self.durable.len());
        for change in self.unsynced.iter().take(changes) {
            let after = change.length_after(shown);
            if after != shown {
                arrived = after;
            } else if let Change::Write { offset, data } = change {
                arrived = arrived.max(offset + data.len() as u64);
            }
            shown = after;
        }
        arrived
    }

    /// The sectors that `unsynced` touched: a bit mask for each page.
    fn dirty_sectors(&self) -> BTreeMap<u64, u8> {
        let mut dirty = BTreeMap::new();
        let mut length = self.clean_bytes;
        for change in &self.unsynced {
            match change {
                Change::Write { offset, data } => {
                    sectors_of(*offset, data.len() as u64).for_each(|sector| mark(&mut dirty, sector));
                }
                Change::SetLen { bytes } if *bytes < length => {
                    for sector in self.sectors_in_use(*bytes, length, |page| dirty.contains_key(&page)) {
                        mark(&mut dirty, sector);
                    }
                }
                Change::SetLen { .. } => {}
            }
            length = change.length_after(length);
        }
        dirty
    }

    /// The sectors from one byte to another where a cut can be told: not those of holes that are holes everywhere.
    fn sectors_in_use(&self, from: u64, to: u64, is_dirty_page: impl Fn(u64) -> bool) -> Vec<u64> {
        let lost_page = |page: u64| {
            let first = page * SECTORS_PER_PAGE;
            self.lost.range(first..first + SECTORS_PER_PAGE).next().is_some()
        };
        sectors_of(from, to - from)
            .filter(|sector| {
                let page = sector / SECTORS_PER_PAGE;
                self.durable.has_page(page) || lost_page(page) || is_dirty_page(page)
            })
            .collect()
    }
}

fn sectors_of(offset: u64, bytes: u64) -> std::ops::Range<u64> {
    offset / SECTOR_BYTES..(offset + bytes).div_ceil(SECTOR_BYTES)
}

fn mark(dirty: &mut BTreeMap<u64, u8>, sector: u64) {
    *dirty.entry(sector / SECTORS_PER_PAGE).or_default() |= 1 << (sector % SECTORS_PER_PAGE);
}

fn marked_sectors(page: u64, mask: u8) -> impl Iterator<Item = u64> {
    (0..SECTORS_PER_PAGE)
        .filter(move |index| mask & (1 << index) != 0)
        .map(move |index| page * SECTORS_PER_PAGE + index)
}

fn is_marked(dirty: &BTreeMap<u64, u8>, sector: u64) -> bool {
    dirty.get(&(sector / SECTORS_PER_PAGE)).is_some_and(|mask| mask & (1 << (sector % SECTORS_PER_PAGE)) != 0)
}

fn has_page(timelines: &BTreeMap<u64, Vec<Version>>, page: u64) -> bool {
    let first = page * SECTORS_PER_PAGE;
    timelines.range(first..first + SECTORS_PER_PAGE).next().is_some()
}

/// Lays the part of a write that falls into a sector over it.
fn overlay(bytes: &mut Sector, sector: u64, data: &[u8], offset: u64) {
    let start = sector * SECTOR_BYTES;
    let from = offset.max(start);
    let to = (offset + data.len() as u64).min(start + SECTOR_BYTES);
    bytes[(from - start) as usize..(to - start) as usize]
        .copy_from_slice(&data[(from - offset) as usize..(to - offset) as usize]);
}
