//! The recovery of stored bytes at an opening: cuts one torn write, and makes the rest durable.

use std::io;
use std::path::Path;

use crate::host::disk::{Disk, OpenMode};
use crate::limits::FILL_SLICE_BYTES;
use crate::replay::{ReplayedLog, TailState};
use crate::segments::quarantine;
use crate::segments::{segment_number, segments_folder};
use crate::tree::leaves;

/// Returned `Ok` ⇒ every byte that the replay read above the last tree head is durable, and nothing stands behind it. The cut bytes lie
/// in quarantine. After a crash at any point the next opening does the same.
pub(crate) fn settle(disk: &dyn Disk, ledger: &Path, replayed: &ReplayedLog) -> io::Result<()> {
    let folder = segments_folder(ledger);
    if replayed.tail.is_corrupt() {
        return Ok(());
    }
    // The last one first, each for good: no crash may leave a gap in the numbers.
    for blank in replayed.unwritten.iter().rev() {
        disk.remove_file(blank)?;
        disk.sync_folder(&folder)?;
    }
    match &replayed.tail {
        TailState::Corrupt(_) => {}
        TailState::Whole { path, end, durable: true } => trim(disk, path, *end)?,
        TailState::Whole { path, end, .. } => make_durable(disk, path, *end)?,
        TailState::Torn { path, name, at, until } => {
            quarantine_tail(disk, ledger, replayed, (path, name), *at..*until)?;
            if *at > 0 {
                make_durable(disk, path, *at)?;
            } else {
                // Not one frame of it stands: the number is free for the next segment. The one before is then the last. Leaves
                // without their segment would be damage.
                if let Some(number) = segment_number(name) {
                    leaves::forget(disk, ledger, number)?;
                }
                disk.remove_file(path)?;
                if let Some((before, end)) = &replayed.before_last {
                    make_durable(disk, before, *end)?;
                }
            }
        }
    }
    disk.sync_folder(&folder)?;
    disk.sync_folder(ledger)
}

/// Cuts zeros that could not be cut when the segment ended.
fn trim(disk: &dyn Disk, path: &Path, end: u64) -> io::Result<()> {
    let file = disk.open(path, OpenMode::Write)?;
    if file.len()? == end {
        return Ok(());
    }
    file.set_len(end)?;
    file.sync_all()
}

/// Copies the torn bytes away before they are cut.
fn quarantine_tail(
    disk: &dyn Disk,
    ledger: &Path,
    replayed: &ReplayedLog,
    (path, name): (&Path, &str),
    bytes: std::ops::Range<u64>,
) -> io::Result<()> {
    let mut torn = vec![0; usize::try_from(bytes.end.saturating_sub(bytes.start)).unwrap_or(0)];
    disk.open(path, OpenMode::Read)?.read_exact_at(&mut torn, bytes.start)?;
    quarantine::keep(disk, ledger, replayed.keys.index_key(), (name, bytes.start), &torn)
}

/// Writes the file's contents again, since the page cache may show bytes that the disk lacks after a failed sync. Cuts the bytes behind
/// `end`.
fn make_durable(disk: &dyn Disk, path: &Path, end: u64) -> io::Result<()> {
    let file = disk.open(path, OpenMode::Write)?;
    if file.len()? != end {
        file.set_len(end)?;
    }
    let mut slice = vec![0; FILL_SLICE_BYTES];
    let mut offset = 0;
    while offset < end {
        let length = usize::try_from(end - offset).unwrap_or(usize::MAX).min(FILL_SLICE_BYTES);
        let slice = slice.get_mut(..length).unwrap_or_default();
        file.read_exact_at(slice, offset)?;
        file.write_all_at(slice, offset)?;
        offset += length as u64;
    }
    file.sync_all()
}
