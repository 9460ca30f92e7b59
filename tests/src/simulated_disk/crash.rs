//! The effect of a crash on unsynced changes.

use super::content::{Content, SECTOR_BYTES};
use super::file::{Change, FileNode, Version};
use crate::seeded::SeededRandom;

/// The unsynced changes that a crash keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPolicy {
    /// Nothing: the least a disk may have.
    OnlySynced,
    /// All of it, as if everything had been synced in time.
    Everything,
    /// Any of it, as the seed has it. Sectors of 512 bytes come in any order and of any age since the last sync. Each file and each
    /// change of a name is on its own.
    Random,
}

impl CrashPolicy {
    /// Every policy, for loops; `Random` wants many seeds.
    pub const ALL: [Self; 3] = [Self::OnlySynced, Self::Everything, Self::Random];

    pub(super) fn shape_of_file(self, random: &mut SeededRandom) -> CrashShape {
        match self {
            Self::OnlySynced => CrashShape::Nothing,
            Self::Everything => CrashShape::Everything,
            Self::Random => CrashShape::pick(random),
        }
    }

    /// In how many of eight cases a change of a name is kept.
    pub(super) fn names_kept_of_8(self, random: &mut SeededRandom) -> u64 {
        match self {
            Self::OnlySynced => 0,
            Self::Everything => 8,
            Self::Random => [1, 4, 7][random.index(3)],
        }
    }
}

/// In what manner one file's unsynced sectors are kept. Even odds for each sector alone would hardly ever give the
/// likeliest of crashes: all there but the end, or all but one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CrashShape {
    Nothing,
    Everything,
    /// Each sector alone: its newest version in this many of eight cases, else any older one.
    Scattered {
        newest_of_8: u64,
    },
    /// Up to some sector of some change, and nothing later.
    Prefix,
    /// All changes, but of the last write only from some sector on.
    LastWriteWithoutHead,
    /// All but one sector.
    WithoutOne,
    /// One sector alone.
    OnlyOne,
}

impl CrashShape {
    fn pick(random: &mut SeededRandom) -> Self {
        match random.below(10) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2 => Self::Scattered { newest_of_8: 1 },
            3 => Self::Scattered { newest_of_8: 4 },
            4 => Self::Scattered { newest_of_8: 7 },
            5 | 6 => Self::Prefix,
            7 => Self::LastWriteWithoutHead,
            8 => Self::WithoutOne,
            _ => Self::OnlyOne,
        }
    }
}

impl FileNode {
    /// Returns the content that a crash leaves on the platter.
    pub(super) fn crashed(&self, shape: CrashShape, random: &mut SeededRandom) -> Content {
        let mut platter = self.durable().clone();
        let changes = self.unsynced();
        if shape == CrashShape::Nothing || changes.is_empty() {
            return platter;
        }
        let timelines = self.timelines();
        let sectors: Vec<u64> = timelines.keys().copied().collect();
        let plan = CrashPlan::new(shape, changes, &sectors, random);
        for (sector, versions) in &timelines {
            let possible = possible_versions(versions, plan.length_changes);
            if let Some(version) = plan.choose(*sector, possible, random)
                && version.change > 0
            {
                platter.put_sector(*sector, &version.bytes);
            }
        }
        platter.set_len(self.platter_length(plan.length_changes));
        platter.clear_past_end();
        platter
    }
}

/// The versions a sector can have where the first `length_changes` changes' lengths have arrived: a cut comes with its
/// length, and what was written after it needs it.
fn possible_versions(versions: &[Version], length_changes: usize) -> &[Version] {
    let from = versions
        .iter()
        .rposition(|version| version.is_cut && version.change <= length_changes)
        .unwrap_or_default();
    let to = versions
        .iter()
        .position(|version| version.is_cut && version.change > length_changes)
        .unwrap_or(versions.len());
    &versions[from..to]
}

/// A shape made definite for one file.
struct CrashPlan {
    shape: CrashShape,
    /// So many changes, from the first, have brought their length to the platter.
    length_changes: usize,
    /// The change that is torn, by its number.
    torn_change: usize,
    /// The sector where it is torn, or the one that is singled out.
    sector: u64,
}

impl CrashPlan {
    fn new(shape: CrashShape, changes: &[Change], sectors: &[u64], random: &mut SeededRandom) -> Self {
        let all = changes.len();
        let torn_change = match shape {
            CrashShape::Prefix => 1 + random.index(all),
            _ => 1 + changes.iter().rposition(|change| matches!(change, Change::Write { .. })).unwrap_or(all),
        };
        let length_changes = match shape {
            CrashShape::Nothing => 0,
            CrashShape::Everything | CrashShape::LastWriteWithoutHead | CrashShape::WithoutOne => all,
            CrashShape::Prefix => torn_change - random.index(2),
            CrashShape::OnlyOne | CrashShape::Scattered { .. } if random.chance(1, 2) => all,
            CrashShape::OnlyOne | CrashShape::Scattered { .. } => random.index(all + 1),
        };
        let sector = match (shape, changes.get(torn_change - 1)) {
            (CrashShape::Prefix | CrashShape::LastWriteWithoutHead, Some(Change::Write { offset, data })) => {
                let first = offset / SECTOR_BYTES;
                let end = (offset + data.len() as u64).div_ceil(SECTOR_BYTES);
                first + random.below(end - first + 1)
            }
            _ => sectors.get(random.index(sectors.len())).copied().unwrap_or_default(),
        };
        Self { shape, length_changes, torn_change, sector }
    }

    /// One of the possible versions; they are never empty where a sector has any.
    fn choose<'v>(
        &self,
        sector: u64,
        possible: &'v [Version],
        random: &mut SeededRandom,
    ) -> Option<&'v Version> {
        let (newest, older) = possible.split_last()?;
        let oldest = possible.first()?;
        let newest_where = |is_there: &dyn Fn(&Version) -> bool| {
            possible.iter().rev().find(|version| is_there(version)).unwrap_or(oldest)
        };
        Some(match self.shape {
            CrashShape::Nothing => oldest,
            CrashShape::Everything => newest,
            CrashShape::Scattered { newest_of_8 } if random.chance(newest_of_8, 8) => newest,
            CrashShape::Scattered { .. } => older.get(random.index(older.len())).unwrap_or(newest),
            CrashShape::Prefix => newest_where(&|version| {
                version.change < self.torn_change
                    || (version.change == self.torn_change && sector < self.sector)
            }),
            CrashShape::LastWriteWithoutHead => {
                newest_where(&|version| version.change != self.torn_change || sector >= self.sector)
            }
            CrashShape::WithoutOne if sector == self.sector => {
                older.get(random.index(older.len())).unwrap_or(newest)
            }
            CrashShape::WithoutOne => newest,
            CrashShape::OnlyOne if sector == self.sector => newest,
            CrashShape::OnlyOne => oldest,
        })
    }
}
