//! What a ledger keeps of its archives: their manifests, in its folder, so that it knows without any store what is archived.

use std::io;
use std::path::{Path, PathBuf};

use bitacora_formats::archive::{ArchiveError, ArchiveRange, SignedManifest, UnverifiedManifest};
use bitacora_formats::limits::MAX_MANIFEST_BYTES;
use bitacora_formats::{LedgerId, Position, SigningChain};
use bitacora_ledger::{Disk, FolderLock, OpenMode};

use crate::error::KeptError;

/// What the name of a manifest ends with, behind the positions.
const ENDING: &str = ".manifest";
/// What a file that is being written has behind its name.
const UNFINISHED: &str = ".new";

/// The folder of a ledger's manifests.
#[derive(Debug, Clone)]
pub(crate) struct ManifestFolder(PathBuf);

impl ManifestFolder {
    /// That of the ledger in this folder.
    pub(crate) fn of(ledger: &Path) -> Self {
        Self(ledger.join("archives"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder if it is missing, durably.
    pub(crate) fn make(&self, disk: &dyn Disk) -> io::Result<()> {
        match disk.create_folder(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            made => made?,
        }
        self.0.parent().map_or(Ok(()), |parent| disk.sync_folder(parent))
    }

    /// Keeps others from archiving the same ledger; `WouldBlock` where another does.
    pub(crate) fn lock(&self, disk: &dyn Disk) -> io::Result<Box<dyn FolderLock>> {
        disk.lock(&self.0.join("lock"))
    }

    /// Keeps a manifest. Returned `Ok` ⇒ durable; after an error it may be there, and is not: it has to be kept again.
    ///
    /// Syscalls: `openat`, `pwrite64`, `fsync`, `rename`, `fsync` of the folder.
    pub(crate) fn keep(&self, disk: &dyn Disk, manifest: &SignedManifest) -> io::Result<()> {
        let name = format!("{}{ENDING}", manifest.manifest().range.file_stem());
        let unfinished = self.0.join(format!("{name}{UNFINISHED}"));
        match disk.remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.open(&unfinished, OpenMode::CreateNew)?;
        file.write_all_at(manifest.note().to_string().as_bytes(), 0)?;
        file.sync_all()?;
        disk.rename(&unfinished, &self.0.join(name))?;
        disk.sync_folder(&self.0)
    }

    /// All that are kept, in order, each verified and joined to the one before it; the first begins at the ledger's first event.
    ///
    /// # Errors
    /// [`KeptError`].
    pub(crate) fn read(
        &self,
        disk: &dyn Disk,
        ledger: LedgerId,
        signers: &SigningChain,
    ) -> Result<Vec<SignedManifest>, KeptError> {
        let listed = match disk.list(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(|source| self.failed("", source))?,
        };
        let mut kept: Vec<SignedManifest> = Vec::new();
        // Sorted by name, as the disk says them, and so by position.
        for entry in listed.iter().filter(|entry| !entry.is_folder) {
            let stem = entry.name.strip_suffix(ENDING);
            let Some(range) = stem.and_then(ArchiveRange::of_file_stem) else { continue };
            let found = self.read_one(disk, &entry.name, signers)?;
            let wrong = |source| KeptError::Manifest { file: self.shown(&entry.name), source };
            let manifest = found.manifest();
            if manifest.origin.ledger != ledger || manifest.range != range {
                let expected = format!("ledger {ledger}, positions {range}");
                let found = format!("ledger {}, positions {}", manifest.origin.ledger, manifest.range);
                return Err(wrong(ArchiveError::Other { expected, found }));
            }
            let before = kept.last().map(SignedManifest::manifest);
            let due = before.map_or(1, |before| before.range.last().get() + 1);
            if range.first().get() > due {
                let last = range.first().get() - 1;
                return Err(KeptError::Gap { file: self.shown(&entry.name), last });
            }
            before.map_or(Ok(()), |before| manifest.follows(before)).map_err(wrong)?;
            kept.push(found);
        }
        Ok(kept)
    }

    fn read_one(
        &self,
        disk: &dyn Disk,
        name: &str,
        signers: &SigningChain,
    ) -> Result<SignedManifest, KeptError> {
        let read = || -> io::Result<Vec<u8>> {
            let file = disk.open(&self.0.join(name), OpenMode::Read)?;
            let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
            if length > MAX_MANIFEST_BYTES {
                let what = format!("{length} bytes; a manifest has at most {MAX_MANIFEST_BYTES}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            let mut text = vec![0; length];
            file.read_exact_at(&mut text, 0)?;
            Ok(text)
        };
        let text = read().map_err(|source| self.failed(name, source))?;
        let verified = UnverifiedManifest::parse(&text).and_then(|manifest| manifest.verify(signers));
        verified.map_err(|error| KeptError::Manifest { file: self.shown(name), source: error.into() })
    }

    fn shown(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn failed(&self, name: &str, source: io::Error) -> KeptError {
        KeptError::Disk { file: self.shown(name), source }
    }
}

/// What the ledger in this folder keeps of its archives, in order; the first begins at its first event.
///
/// # Errors
/// [`KeptError`].
pub fn kept_archives(
    disk: &dyn Disk,
    folder: &Path,
    ledger: LedgerId,
    signers: &SigningChain,
) -> Result<Vec<SignedManifest>, KeptError> {
    ManifestFolder::of(folder).read(disk, ledger, signers)
}

/// The last position that these hold; 0 for none.
pub(crate) fn archived_through(kept: &[SignedManifest]) -> u64 {
    kept.last().map_or(0, |last| last.manifest().range.last().get())
}

/// The one that holds a position: its place among them.
pub(crate) fn holding(kept: &[SignedManifest], position: Position) -> Option<usize> {
    let after = kept.partition_point(|one| one.manifest().range.first() <= position);
    let index = after.checked_sub(1)?;
    kept.get(index).filter(|one| one.manifest().range.contains(position)).map(|_| index)
}
