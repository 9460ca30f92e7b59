//! Torn bytes that opening cut off: kept beside the segments, never deleted, and recorded in the log.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::disk::{Disk, OpenMode};
use crate::segments::segment_number;

/// Cuts that the log does not record yet end so; recorded ones have this taken away.
const UNRECORDED: &str = ".torn";

/// Frames that were written and that the disk did not have end so, until they are back in their places and the log says it.
const UNWRITTEN: &str = ".unwritten";
/// Frames whose places others have taken since.
const SUPERSEDED: &str = ".superseded";

/// Frames that the disk did not have: where they belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnwrittenRecord {
    /// The name of the file in the quarantine folder, without its ending.
    pub(crate) file: String,
    pub(crate) segment: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl UnwrittenRecord {
    pub(crate) fn file_name(&self) -> String {
        format!("{}{UNWRITTEN}", self.file)
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({"segment": self.segment, "offset": self.offset, "bytes": self.bytes, "quarantine": self.file})
    }
}

/// A cut: which file, from where, how many bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CutRecord {
    /// The name of the file in the quarantine folder, without its ending.
    pub(crate) file: String,
    segment: String,
    offset: u64,
    bytes: u64,
}

impl CutRecord {
    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({"segment": self.segment, "offset": self.offset, "bytes": self.bytes, "quarantine": self.file})
    }

    fn of(name: &str, bytes: u64) -> Option<Self> {
        let file = name.strip_suffix(UNRECORDED)?;
        let (segment, offset) = file.split_once('@')?;
        let offset = offset.split('.').next()?.parse().ok()?;
        Some(Self { file: file.to_owned(), segment: segment.to_owned(), offset, bytes })
    }
}

pub(crate) fn folder(ledger: &Path) -> PathBuf {
    ledger.join("quarantine")
}

/// Keeps `bytes` that stood at `offset` of a segment. Returned `Ok` ⇒ the copy and its name are durable; a crash before
/// leaves a copy that the next opening makes again under another name.
pub(crate) fn keep(
    disk: &dyn Disk,
    ledger: &Path,
    segment: &str,
    offset: u64,
    bytes: &[u8],
) -> io::Result<()> {
    keep_under(disk, ledger, &format!("{segment}@{offset}"), UNRECORDED, bytes)
}

/// The same for frames that were written, and that the disk does not have at `offset` of this segment.
pub(crate) fn keep_unwritten(
    disk: &dyn Disk,
    ledger: &Path,
    segment: &str,
    offset: u64,
    bytes: &[u8],
) -> io::Result<()> {
    keep_under(disk, ledger, &format!("{segment}@{offset}"), UNWRITTEN, bytes)
}

fn keep_under(disk: &dyn Disk, ledger: &Path, name: &str, ending: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = folder(ledger);
    for attempt in 0_u32.. {
        let path = folder.join(format!("{name}.{attempt}{ending}"));
        let recorded = path.with_extension("");
        if disk.exists(&recorded)? {
            continue;
        }
        match disk.open(&path, OpenMode::CreateNew) {
            Ok(file) => {
                file.write_all_at(bytes, 0)?;
                file.sync_all()?;
                return disk.sync_folder(&folder);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Moves a file of the ledger's folder here, under its name and this ending. Returned `Ok` ⇒ durable; a crash before leaves it
/// in one of both places.
pub(crate) fn set_aside(disk: &dyn Disk, ledger: &Path, file: &str, ending: &str) -> io::Result<()> {
    let from = ledger.join(file);
    let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = folder(ledger);
    disk.rename(&from, &folder.join(format!("{name}.{ending}")))?;
    disk.sync_folder(&folder)?;
    from.parent().map_or(Ok(()), |parent| disk.sync_folder(parent))
}

/// The cuts that the log does not record yet.
pub(crate) fn unrecorded(disk: &dyn Disk, ledger: &Path) -> io::Result<Vec<CutRecord>> {
    let folder = folder(ledger);
    let mut cuts = Vec::new();
    for entry in disk.list(&folder)? {
        if entry.name.ends_with(UNRECORDED) {
            let bytes = disk.open(&folder.join(&entry.name), OpenMode::Read)?.len()?;
            cuts.extend(CutRecord::of(&entry.name, bytes));
        }
    }
    Ok(cuts)
}

/// Frames that the disk did not have, in the order of their places.
pub(crate) fn unwritten(disk: &dyn Disk, ledger: &Path) -> io::Result<Vec<UnwrittenRecord>> {
    let folder = folder(ledger);
    let entries = match disk.list(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.is_folder) {
        let Some(file) = entry.name.strip_suffix(UNWRITTEN) else { continue };
        let Some((segment, place)) = file.split_once('@') else { continue };
        let offset = place.split('.').next().and_then(|offset| offset.parse().ok());
        let (Some(_), Some(offset)) = (segment_number(segment), offset) else { continue };
        let bytes = disk.open(&folder.join(&entry.name), OpenMode::Read)?.len()?;
        found.push(UnwrittenRecord { file: file.to_owned(), segment: segment.to_owned(), offset, bytes });
    }
    Ok(found)
}

/// The log says durably that these frames are back.
pub(crate) fn mark_put_back(disk: &dyn Disk, ledger: &Path, record: &UnwrittenRecord) -> io::Result<()> {
    let folder = folder(ledger);
    disk.rename(&folder.join(record.file_name()), &folder.join(&record.file))?;
    disk.sync_folder(&folder)
}

/// The log goes on without these frames: they are none of it any more.
pub(crate) fn mark_superseded(disk: &dyn Disk, ledger: &Path, record: &UnwrittenRecord) -> io::Result<()> {
    let folder = folder(ledger);
    let name = format!("{}{SUPERSEDED}", record.file);
    disk.rename(&folder.join(record.file_name()), &folder.join(name))?;
    disk.sync_folder(&folder)
}

/// The log records this cut durably now.
pub(crate) fn mark_recorded(disk: &dyn Disk, ledger: &Path, cut: &CutRecord) -> io::Result<()> {
    let folder = folder(ledger);
    disk.rename(&folder.join(format!("{}{UNRECORDED}", cut.file)), &folder.join(&cut.file))?;
    disk.sync_folder(&folder)
}
