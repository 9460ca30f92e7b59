//! Torn bytes that opening cut off: kept beside the segments, never deleted, and recorded in the log.

#[cfg(test)]
mod tests;
mod unwritten;

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{ControlFile, ControlSeal, Secret};
use serde_json::json;

pub(crate) use self::unwritten::UnwrittenFrames;
use crate::host::disk::{Disk, OpenMode, is_no_file};

/// Cuts that the log does not record yet end so; recorded ones have this and the seal before it taken away.
const UNRECORDED: &str = ".torn";
/// Digits of the seal in such a name: 128 bits.
const SEAL_DIGITS: usize = 32;

/// A cut: which file, from where, how many bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CutRecord {
    /// The name of the file in the quarantine folder, without its seal and ending.
    pub(crate) file: String,
    /// BLAKE3 over the bytes.
    pub(crate) hash: blake3::Hash,
    /// The first digits of the seal.
    seal: String,
    segment: String,
    offset: u64,
    bytes: u64,
}

impl CutRecord {
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let hash = self.hash.to_hex();
        json!({"segment": self.segment, "offset": self.offset, "bytes": self.bytes, "quarantine": self.file, "hash": hash.as_str()})
    }

    fn of(key: &Secret, (segment, offset): (&str, u64), attempt: u32, bytes: &[u8]) -> Self {
        let (file, hash) = (format!("{segment}@{offset}.{attempt}"), blake3::hash(bytes));
        let seal = seal_of(ControlFile::TornCut, key, &file, hash);
        Self { file, hash, seal, segment: segment.to_owned(), offset, bytes: bytes.len() as u64 }
    }

    /// The name of its file while the log does not record it.
    fn unrecorded_name(&self) -> String {
        format!("{}.{}{UNRECORDED}", self.file, self.seal)
    }

    /// Reads the cut of a file that says to be one; `None` if not this ledger's keys named it.
    fn read(disk: &dyn Disk, folder: &Path, key: &Secret, name: &str) -> io::Result<Option<Self>> {
        let Some((place, attempt)) = parse_name(name) else { return Ok(None) };
        let Some(bytes) = read(disk, folder, name)? else { return Ok(None) };
        let cut = Self::of(key, place, attempt, &bytes);
        Ok((cut.unrecorded_name() == name).then_some(cut))
    }
}

/// The segment, the offset and the number of the attempt in the name of an unrecorded cut.
fn parse_name(name: &str) -> Option<((&str, u64), u32)> {
    let (segment, rest) = name.strip_suffix(UNRECORDED)?.split_once('@')?;
    let mut numbers = rest.split('.');
    let place = (segment, numbers.next()?.parse().ok()?);
    Some((place, numbers.next()?.parse().ok()?))
}

/// The digits of the seal in the name of a file: over the name before it, and these bytes.
fn seal_of(kind: ControlFile, key: &Secret, name: &str, bytes: blake3::Hash) -> String {
    let sealed = format!("{name}\n{}", bytes.to_hex());
    let mut seal = ControlSeal::of(kind, key, sealed.as_bytes()).to_string();
    seal.truncate(SEAL_DIGITS);
    seal
}

/// The bytes of a file of the folder; `None` where it is longer than a segment, or no regular file: neither is a ledger's.
fn read(disk: &dyn Disk, folder: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    read_file(disk, &folder.join(name))
        .map_err(|error| io::Error::new(error.kind(), format!("quarantine/{name}: {error}")))
}

fn read_file(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match disk.open(path, OpenMode::Read) {
        Err(error) if is_no_file(&error) => return Ok(None),
        opened => opened?,
    };
    let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    if length > MAX_SEGMENT_BYTES {
        return Ok(None);
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

/// Writes a new file of the folder. Returned `Ok(true)` ⇒ durable with its name; `Ok(false)`: there is one of that name.
fn write_new(disk: &dyn Disk, folder: &Path, name: &str, bytes: &[u8]) -> io::Result<bool> {
    match disk.open(&folder.join(name), OpenMode::CreateNew) {
        Ok(file) => {
            file.write_all_at(bytes, 0)?;
            file.sync_all()?;
            disk.sync_folder(folder).map(|()| true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn folder(ledger: &Path) -> PathBuf {
    ledger.join("quarantine")
}

/// Keeps `bytes` that stood at an offset of a segment. Returned `Ok` ⇒ the copy and its name are durable; a crash before
/// leaves a copy that the next opening makes again under another name.
pub(crate) fn keep(
    disk: &dyn Disk,
    ledger: &Path,
    key: &Secret,
    (segment, offset): (&str, u64),
    bytes: &[u8],
) -> io::Result<()> {
    let folder = folder(ledger);
    for attempt in 0_u32.. {
        let cut = CutRecord::of(key, (segment, offset), attempt, bytes);
        if disk.exists(&folder.join(&cut.file))? {
            continue;
        }
        if write_new(disk, &folder, &cut.unrecorded_name(), bytes)? {
            return Ok(());
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

/// The cuts that the log does not record yet. A file that this ledger's keys did not name is left where it lies: the log tells
/// of no cut that nobody made.
pub(crate) fn unrecorded(disk: &dyn Disk, ledger: &Path, key: &Secret) -> io::Result<Vec<CutRecord>> {
    let folder = folder(ledger);
    let mut cuts = Vec::new();
    for entry in disk.list(&folder)?.iter().filter(|entry| entry.name.ends_with(UNRECORDED)) {
        match CutRecord::read(disk, &folder, key, &entry.name)? {
            Some(cut) => cuts.push(cut),
            None => {
                tracing::warn!(file = entry.name, "found a file in quarantine that no opening left there");
            }
        }
    }
    Ok(cuts)
}

/// The log records this cut durably now.
pub(crate) fn mark_recorded(disk: &dyn Disk, ledger: &Path, cut: &CutRecord) -> io::Result<()> {
    let folder = folder(ledger);
    disk.rename(&folder.join(cut.unrecorded_name()), &folder.join(&cut.file))?;
    disk.sync_folder(&folder)
}
