//! Frames that the disk lost, as memory had them: quarantine files that only this ledger's keys name.

use std::io;
use std::path::Path;

use bitacora_formats::{ControlFile, Generation, Secret};
use serde_json::json;

use super::{folder, read, seal_of, write_new};
use crate::host::disk::Disk;
use crate::segments::segment_number;

/// The files end so until the frames are back in their places and the log says it.
const UNWRITTEN: &str = ".unwritten";
/// Frames whose places others have taken since.
const SUPERSEDED: &str = ".superseded";

/// Bytes of a segment that were written and that the disk did not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnwrittenFrames {
    /// The name of the file in the quarantine folder, without its seal and ending.
    pub(crate) file: String,
    /// BLAKE3 over the bytes.
    pub(crate) hash: blake3::Hash,
    /// The generation that wrote them.
    pub(crate) generation: Generation,
    pub(crate) segment: String,
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    /// The first digits of the seal.
    seal: String,
}

impl UnwrittenFrames {
    /// Those that belong to this place; `attempt` tells files of one place apart.
    pub(crate) fn of(
        key: &Secret,
        generation: Generation,
        (segment, offset): (&str, u64),
        attempt: u32,
        bytes: Vec<u8>,
    ) -> Self {
        let file = format!("{segment}@{offset}.{attempt}.g{generation}");
        let hash = blake3::hash(&bytes);
        let seal = seal_of(ControlFile::UnwrittenFrames, key, &file, hash);
        Self { file, hash, generation, segment: segment.to_owned(), offset, bytes, seal }
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}.{}{UNWRITTEN}", self.file, self.seal)
    }

    fn superseded_name(&self) -> String {
        format!("{}{SUPERSEDED}", self.file)
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        let (hash, bytes) = (self.hash.to_hex(), self.bytes.len());
        json!({"segment": self.segment, "offset": self.offset, "bytes": bytes, "quarantine": self.file, "hash": hash.as_str()})
    }

    /// Keeps bytes that belong to `offset` of a segment. Returned `Ok` ⇒ they and their name are durable; a crash before leaves a
    /// file that no opening believes.
    ///
    /// Syscalls: `openat`, `pwrite64`, `fsync` of the file and the folder.
    pub(crate) fn keep(
        disk: &dyn Disk,
        ledger: &Path,
        key: &Secret,
        generation: Generation,
        place: (&str, u64),
        bytes: &[u8],
    ) -> io::Result<()> {
        let folder = folder(ledger);
        for attempt in 0_u32.. {
            let frames = Self::of(key, generation, place, attempt, bytes.to_vec());
            let earlier = [frames.file.clone(), frames.superseded_name()];
            if earlier
                .iter()
                .map(|name| disk.exists(&folder.join(name)))
                .any(|there| !matches!(there, Ok(false)))
            {
                continue;
            }
            if write_new(disk, &folder, &frames.file_name(), bytes)? {
                return Ok(());
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Reads those that this ledger's keys named and the log does not say to be back, in the order of their places. Other files are
    /// left where they lie, and nothing is done because of them.
    pub(crate) fn all(disk: &dyn Disk, ledger: &Path, key: &Secret) -> io::Result<Vec<Self>> {
        let folder = folder(ledger);
        let entries = match disk.list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed?,
        };
        let mut found = Vec::new();
        for entry in entries.iter().filter(|entry| entry.name.ends_with(UNWRITTEN)) {
            match Self::read(disk, &folder, key, &entry.name)? {
                Some(frames) => found.push(frames),
                None => tracing::warn!(
                    file = entry.name,
                    "found a file in quarantine that this ledger did not leave there"
                ),
            }
        }
        found.sort_by(|one, other| (&one.segment, one.offset).cmp(&(&other.segment, other.offset)));
        Ok(found)
    }

    fn read(disk: &dyn Disk, folder: &Path, key: &Secret, name: &str) -> io::Result<Option<Self>> {
        let Some((place, attempt, generation)) = parse_name(name) else { return Ok(None) };
        let Some(bytes) = read(disk, folder, name)? else { return Ok(None) };
        let frames = Self::of(key, generation, place, attempt, bytes);
        Ok((frames.file_name() == name).then_some(frames))
    }

    /// The log says durably that they are back.
    pub(crate) fn mark_put_back(&self, disk: &dyn Disk, ledger: &Path) -> io::Result<()> {
        self.rename(disk, ledger, &self.file)
    }

    /// The log goes on without them: they are none of it any more.
    pub(crate) fn mark_superseded(&self, disk: &dyn Disk, ledger: &Path) -> io::Result<()> {
        self.rename(disk, ledger, &self.superseded_name())
    }

    fn rename(&self, disk: &dyn Disk, ledger: &Path, name: &str) -> io::Result<()> {
        let folder = folder(ledger);
        disk.rename(&folder.join(self.file_name()), &folder.join(name))?;
        disk.sync_folder(&folder)
    }
}

/// The segment, the offset, the number of the attempt and the generation in such a name.
fn parse_name(name: &str) -> Option<((&str, u64), u32, Generation)> {
    let (segment, rest) = name.strip_suffix(UNWRITTEN)?.split_once('@')?;
    segment_number(segment)?;
    let mut parts = rest.split('.');
    let offset = parts.next()?.parse().ok()?;
    let attempt = parts.next()?.parse().ok()?;
    let generation = parts.next()?.strip_prefix('g')?.parse().ok()?;
    Some(((segment, offset), attempt, Generation(generation)))
}
