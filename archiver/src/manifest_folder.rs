//! The manifests of its archives that a ledger keeps in its folder, as its memory of what is archived.
//! It needs no store for that.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_archive_format::{
    ArchiveError, ArchiveRange, Manifest, ManifestError, SignedManifest, UnverifiedManifest,
};
use bitacora_formats::limits::MAX_MANIFEST_BYTES;
use bitacora_formats::{LedgerId, Position, SigningChain};
use bitacora_ledger::{Disk, FolderLock, OpenMode};

use crate::error::ManifestFolderError;

/// The suffix of a manifest's name, behind the positions.
const ENDING: &str = ".manifest";
/// The suffix of a file that is being written.
const UNFINISHED: &str = ".new";
/// The same of one that is put back, while somebody else may be keeping another.
const RETURNING: &str = ".returning";
/// The suffix of a file that is no manifest, once another took its place.
const PUT_ASIDE: &str = ".damaged";
/// The most files of one name that are put aside.
const MAX_PUT_ASIDE: u32 = 9;

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

    /// The ledger's folder.
    pub(crate) fn ledger(&self) -> &Path {
        self.0.parent().unwrap_or(&self.0)
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
        self.keep_by_way_of(disk, manifest, UNFINISHED)
    }

    fn keep_by_way_of(&self, disk: &dyn Disk, manifest: &SignedManifest, ending: &str) -> io::Result<()> {
        let name = format!("{}{ENDING}", manifest.manifest().range.file_stem());
        let unfinished = self.0.join(format!("{name}{ending}"));
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

    /// All that are kept, in order, each verified and joined to the one before it; and what is lost of them, from the ledger's first
    /// event on.
    ///
    /// # Errors
    /// [`ManifestFolderError::Disk`] where the folder cannot be listed.
    pub(crate) fn read(
        &self,
        disk: &dyn Disk,
        ledger: LedgerId,
        signers: &SigningChain,
    ) -> Result<ManifestSet, ManifestFolderError> {
        let listed = match disk.list(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ManifestSet::default()),
            listed => listed.map_err(|source| self.failed("", source))?,
        };
        let mut kept = ManifestSet::default();
        let mut unusable: Vec<UnusableManifest> = Vec::new();
        // Sorted by name, as the disk says them, and so by position.
        for entry in listed.iter().filter(|entry| !entry.is_folder) {
            if let Some(range) = put_aside(&entry.name) {
                kept.put_aside.push(range);
            }
            let stem = entry.name.strip_suffix(ENDING);
            let Some(range) = stem.and_then(ArchiveRange::of_file_stem) else { continue };
            let found = self.read_one(disk, &entry.name, (ledger, range), signers);
            let wrong = |source| ManifestFolderError::Manifest { file: self.shown(&entry.name), source };
            let joined = found.and_then(|found| {
                let before = kept.manifests.last().filter(|_| range.tree_before() == kept.end());
                let joined = before.map_or(Ok(()), |before| found.manifest().follows(before.manifest()));
                joined.map(|()| found).map_err(wrong)
            });
            match joined {
                // Another holds its first positions, and what is behind them is missed as what this one does not hold.
                Ok(_) if range.tree_before() < kept.end() => {}
                Ok(found) => {
                    if range.tree_before() > kept.end() {
                        let error = ManifestFolderError::Gap {
                            file: self.shown(&entry.name),
                            last: range.tree_before(),
                        };
                        kept.lose(range.tree_before(), &mut unusable, error);
                    }
                    kept.manifests.push(found);
                }
                Err(error) => unusable.push(UnusableManifest { name: entry.name.clone(), range, error }),
            }
        }
        let last = unusable.iter().map(|one| one.range.last().get()).max().unwrap_or(0);
        if last > kept.end() {
            kept.lose(last, &mut unusable, ManifestFolderError::Gap { file: self.shown(""), last });
        }
        Ok(kept)
    }

    /// Puts manifests that were lost back in their place. A file that stands there and is no manifest is put aside under its name with
    /// [`PUT_ASIDE`] behind it. Returned `Ok` ⇒ durable; after an error, or a crash, some of them may still be lost, or missing.
    ///
    /// Syscalls: those of [`Self::make`]; for each that is put aside `statx`, `rename`; those of [`Self::keep`].
    pub(crate) fn put_back(
        &self,
        disk: &dyn Disk,
        files: &[String],
        manifests: &[SignedManifest],
    ) -> io::Result<()> {
        self.make(disk)?;
        for name in files {
            let (from, mut aside) = (self.0.join(name), None);
            for number in 1..=MAX_PUT_ASIDE {
                let number = if number == 1 { String::new() } else { format!(".{number}") };
                let to = self.0.join(format!("{name}{PUT_ASIDE}{number}"));
                if !disk.exists(&to)? {
                    aside = Some(to);
                    break;
                }
            }
            let to =
                aside.ok_or_else(|| io::Error::other(format!("{MAX_PUT_ASIDE} of {name} were put aside")))?;
            disk.rename(&from, &to)?;
        }
        manifests.iter().try_for_each(|manifest| self.keep_by_way_of(disk, manifest, RETURNING))
    }

    fn read_one(
        &self,
        disk: &dyn Disk,
        name: &str,
        (ledger, range): (LedgerId, ArchiveRange),
        signers: &SigningChain,
    ) -> Result<SignedManifest, ManifestFolderError> {
        let wrong = |source: ArchiveError| ManifestFolderError::Manifest { file: self.shown(name), source };
        let read = || -> io::Result<Result<Vec<u8>, ManifestError>> {
            let file = disk.open(&self.0.join(name), OpenMode::Read)?;
            let bytes = usize::try_from(file.len()?).unwrap_or(usize::MAX);
            if bytes > MAX_MANIFEST_BYTES {
                return Ok(Err(ManifestError::TooLong { bytes }));
            }
            let mut text = vec![0; bytes];
            file.read_exact_at(&mut text, 0)?;
            Ok(Ok(text))
        };
        let text = read().map_err(|source| self.failed(name, source))?;
        let text = text.map_err(|error| wrong(error.into()))?;
        let verified = UnverifiedManifest::parse(&text).and_then(|manifest| manifest.verify(signers));
        let found = verified.map_err(|error| wrong(error.into()))?;
        let manifest = found.manifest();
        if manifest.origin.ledger != ledger || manifest.range != range {
            let expected = format!("ledger {ledger}, positions {range}");
            let found = format!("ledger {}, positions {}", manifest.origin.ledger, manifest.range);
            return Err(wrong(ArchiveError::Other { expected, found }));
        }
        Ok(found)
    }

    fn shown(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn failed(&self, name: &str, source: io::Error) -> ManifestFolderError {
        ManifestFolderError::Disk { file: self.shown(name), source }
    }
}

/// The manifests in a folder, and the gaps between them.
#[derive(Debug, Default)]
pub(crate) struct ManifestSet {
    /// Those that are whole, in order. Each that begins where the one before ends goes on from that.
    pub(crate) manifests: Vec<SignedManifest>,
    /// The lost ranges between them, before or behind them, in order.
    pub(crate) lost: Vec<LostManifests>,
    /// The ranges of the manifests that were put aside.
    pub(crate) put_aside: Vec<ArchiveRange>,
}

/// Positions of which the folder has no whole manifest, and had one.
#[derive(Debug)]
pub(crate) struct LostManifests {
    /// The first position.
    pub(crate) first: u64,
    /// The last position.
    pub(crate) last: u64,
    /// The last position of them that a file's name says, also that of a manifest behind them; 0 for none.
    pub(crate) named: u64,
    /// The files that were to hold them, and are what they should not be.
    pub(crate) files: Vec<String>,
    /// The fault.
    pub(crate) error: Arc<ManifestFolderError>,
}

/// A file that is no manifest of what its name says.
struct UnusableManifest {
    name: String,
    range: ArchiveRange,
    error: ManifestFolderError,
}

impl ManifestSet {
    /// The last position of the last one; 0 for none.
    pub(crate) fn end(&self) -> u64 {
        archived_through(&self.manifests)
    }

    /// Records as lost the positions behind the present manifests, up to this one.
    fn lose(&mut self, last: u64, unusable: &mut Vec<UnusableManifest>, missing: ManifestFolderError) {
        let first = self.end() + 1;
        let (mut files, mut error) = (Vec::new(), missing);
        for one in unusable.drain(..).filter(|one| one.range.last().get() >= first).rev() {
            // A file that cannot be read may be whole, and stays where it is.
            if one.error.is_damage() {
                files.push(one.name);
            }
            error = one.error;
        }
        self.lost.push(LostManifests { first, last, named: last, files, error: Arc::new(error) });
    }

    /// The manifests before and behind what is lost.
    pub(crate) fn neighbours(&self, lost: &LostManifests) -> (Option<&Manifest>, Option<&Manifest>) {
        let at = self.manifests.partition_point(|one| one.manifest().range.first().get() < lost.first);
        let before = at.checked_sub(1).and_then(|before| self.manifests.get(before));
        (before.map(SignedManifest::manifest), self.manifests.get(at).map(SignedManifest::manifest))
    }

    /// Puts manifests where some are lost, as many as join there: all of it where others lie behind it. Those; what is still lost then
    /// is lost again.
    pub(crate) fn fill<'a>(
        &mut self,
        mut lost: LostManifests,
        known: &'a [SignedManifest],
    ) -> Vec<&'a SignedManifest> {
        let (before, after) = self.neighbours(&lost);
        let mut joined: Vec<&SignedManifest> = Vec::new();
        let mut last = before;
        let mut end = lost.first - 1;
        while let Some(next) = known.iter().find(|one| {
            one.manifest().range.tree_before() == end
                && last.is_none_or(|last| one.manifest().follows(last).is_ok())
        }) {
            joined.push(next);
            last = Some(next.manifest());
            end = next.manifest().range.last().get();
        }
        let closes = |after: &Manifest| last.is_some_and(|last| after.follows(last).is_ok());
        if after.is_some_and(|after| !closes(after)) {
            joined.clear();
            end = lost.first - 1;
        }
        let at = self.manifests.partition_point(|one| one.manifest().range.first().get() < lost.first);
        self.manifests.splice(at..at, joined.iter().copied().cloned());
        if end < lost.last {
            lost.first = end + 1;
            let at = self.lost.partition_point(|one| one.first < lost.first);
            self.lost.insert(at, lost);
        }
        joined
    }
}

/// Returns the range of a manifest that was put aside, by the name of its file.
fn put_aside(name: &str) -> Option<ArchiveRange> {
    let (stem, _) = name.split_once(ENDING).filter(|(_, rest)| rest.starts_with(PUT_ASIDE))?;
    ArchiveRange::of_file_stem(stem)
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
