//! The times of archived events, from manifests and indexes alone: no event is read for that.

use bitacora_archive_format::{ArchiveError, GroupTimes, Manifest, open_part};
use bitacora_formats::{Decompressor, Micros, Position};
use bitacora_ledger::ArchivedSpan;

use crate::archives::LedgerArchives;
use crate::catalogue::{Catalogue, OpenArchive};
use crate::error::StoredError;

impl LedgerArchives {
    /// The first stretch from a position on whose last event is of this time or later: a group of an archive, or a whole archive where
    /// its index is not needed, or not to be had. `None` where that is in none, or behind one that is lost.
    pub(crate) fn span_with_time(&self, position: Position, time: Micros) -> Option<ArchivedSpan> {
        let mut catalogue = self.catalogue();
        if catalogue.holding(position).is_none() {
            catalogue = self.look_again(position).ok()?;
        }
        let mut end = None;
        for (index, manifest) in catalogue.manifests().enumerate().skip(catalogue.holding(position)?) {
            if end.is_some_and(|end| end != manifest.range.tree_before()) {
                return None;
            }
            end = Some(manifest.range.last().get());
            if manifest.times.1 >= time {
                let group = self.group_with_time(&catalogue, index, manifest, time);
                return Some(group.unwrap_or_else(|| ArchivedSpan {
                    first: manifest.range.first(),
                    last: manifest.range.last(),
                    first_time: manifest.times.0,
                    last_time: manifest.times.1,
                }));
            }
        }
        None
    }

    /// Returns the first group of an archive whose last event is of this time or later. It does so only if one has to be looked for and
    /// the index is there.
    fn group_with_time(
        &self,
        catalogue: &Catalogue,
        index: usize,
        manifest: &Manifest,
        time: Micros,
    ) -> Option<ArchivedSpan> {
        if manifest.times.0 >= time {
            return None;
        }
        let archive = self.open(catalogue, index).ok()?;
        let number = times_of(&archive).ok()?.groups_between(time, Micros(u64::MAX)).start;
        let (first_time, last_time) = *times_of(&archive).ok()?.all().get(number)?;
        let entry = archive.stored.outline().table().groups().get(number)?;
        let first = Position::new(entry.position)?;
        let last = first.plus(u64::from(entry.count.checked_sub(1)?))?;
        Some(ArchivedSpan { first, last, first_time, last_time })
    }
}

/// The times of an archive's groups, read once.
fn times_of(archive: &OpenArchive) -> Result<&GroupTimes, StoredError> {
    if let Some(times) = archive.times.get() {
        return Ok(times);
    }
    let wrong = |error: ArchiveError| archive.stored.wrong(error);
    let table = archive.stored.outline().table();
    let entry = table.times().ok_or_else(|| wrong(ArchiveError::Contents { what: "the index" }))?;
    let stored = archive.stored.part(entry)?;
    let mut zstd = Decompressor::new().map_err(|error| wrong(ArchiveError::Zstd(error)))?;
    let plain = open_part(&archive.key, entry, &stored, &mut zstd).map_err(wrong)?;
    let times = GroupTimes::parse(&plain, table.groups().len()).map_err(wrong)?;
    Ok(archive.times.get_or_init(|| times))
}
