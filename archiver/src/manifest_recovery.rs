//! The recovery of manifests that a ledger's folder has lost, from their archives in the store.
//! A manifest comes back if the ledger signed it, and if it agrees with the remaining segments. It must also join the folder's manifests
//! on both sides.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_archive_format::{ArchiveError, ArchiveRange, Manifest, SegmentLink, SignedManifest};
use bitacora_formats::{Generation, LedgerId, Position, SigningChain};
use bitacora_ledger::{ArchiveAccess, Disk, KnownSegments};

use crate::archive_chain::{ChainEnds, FoundArchive, find, furthest};
use crate::archive_store::Objects;
use crate::error::{ManifestFolderError, StoredError};
use crate::manifest_folder::{LostManifests, ManifestFolder, ManifestSet, archived_through};

/// Files are put aside and back by one at a time: in one process a ledger's archives have several readers.
static PUTTING_BACK: Mutex<()> = Mutex::new(());

/// Brings back the manifests of one ledger.
pub(crate) struct ManifestRecovery<'a> {
    pub(crate) objects: &'a Arc<dyn Objects>,
    pub(crate) disk: &'a dyn Disk,
    pub(crate) folder: &'a ManifestFolder,
    pub(crate) ledger: LedgerId,
    pub(crate) signers: &'a SigningChain,
    pub(crate) access: ArchiveAccess,
}

/// The manifests of a ledger's archives, once the store was asked for those that its folder has lost.
#[derive(Debug, Default)]
pub(crate) struct RecoveredManifests {
    /// Those that were brought back.
    pub(crate) manifests: Vec<SignedManifest>,
    /// Those that were not, and why.
    pub(crate) still_lost: Vec<ManifestFolderError>,
}

/// The reasons for which a lost manifest is not brought back.
#[derive(Debug, thiserror::Error)]
enum ManifestRecoveryError {
    #[error(transparent)]
    Stored(#[from] StoredError),
    #[error("the segments cannot be looked at: {0}")]
    Segments(#[from] io::Error),
    #[error("{object}: {what} is not what the ledger has; it is not taken for the ledger's")]
    Differs { object: String, what: &'static str },
    #[error("{folder}: no archive of these positions joins those around them")]
    None { folder: String },
}

impl ManifestRecovery<'_> {
    /// Reads the folder's manifests and losses; asks nothing of the store.
    ///
    /// # Errors
    /// [`ManifestFolderError::Disk`].
    pub(crate) fn read(&self) -> Result<ManifestSet, ManifestFolderError> {
        self.folder.read(self.disk, self.ledger, self.signers)
    }

    /// Reads the folder's manifests and losses, released events among them, and mends the losses as far as the store has their archives.
    ///
    /// # Errors
    /// [`ManifestFolderError::Disk`].
    pub(crate) fn read_and_mend(&self) -> Result<(ManifestSet, RecoveredManifests), ManifestFolderError> {
        let mut kept = self.read()?;
        self.lose_released(&mut kept);
        let recovered = self.mend(&mut kept, |_| true);
        Ok((kept, recovered))
    }

    /// The manifests of all archives; nothing is lost of them.
    ///
    /// # Errors
    /// [`ManifestFolderError`] where the store does not bring back what the folder has lost.
    pub(crate) fn whole(&self) -> Result<Vec<SignedManifest>, ManifestFolderError> {
        let (kept, recovered) = self.read_and_mend()?;
        recovered.still_lost.into_iter().next().map_or(Ok(kept.manifests), Err)
    }

    /// Events that were let go, and of which the folder has no manifest, count as lost. Segments that cannot be looked at say nothing.
    pub(crate) fn lose_released(&self, kept: &mut ManifestSet) {
        let known = KnownSegments::read(self.disk, self.folder.ledger()).unwrap_or_default();
        let last = known.released_through.map_or(0, Position::get);
        if last <= kept.end() {
            return;
        }
        if let Some(tail) = kept.lost.last_mut().filter(|lost| lost.first > archived_through(&kept.manifests))
        {
            tail.last = tail.last.max(last);
            return;
        }
        let folder = self.folder.path().display().to_string();
        let (first, error) = (kept.end() + 1, Arc::new(ManifestFolderError::Missing { folder }));
        kept.lost.push(LostManifests { first, last, named: 0, files: Vec::new(), error });
    }

    /// Brings back manifests that are lost and wanted, as far as the store has them. The others stay lost.
    pub(crate) fn mend(
        &self,
        kept: &mut ManifestSet,
        is_wanted: impl Fn(&LostManifests) -> bool,
    ) -> RecoveredManifests {
        let mut recovered = RecoveredManifests::default();
        for lost in std::mem::take(&mut kept.lost) {
            if !is_wanted(&lost) {
                kept.lost.push(lost);
                continue;
            }
            let (first, last) = (lost.first, lost.last);
            let (found, why) = match self.find(kept, &lost) {
                Ok(found) => (
                    found,
                    ManifestRecoveryError::None { folder: self.objects.shown(&self.ledger.to_string()) },
                ),
                Err(why) => (Vec::new(), why),
            };
            let files = lost.files.clone();
            let is_readable = !matches!(*lost.error, ManifestFolderError::Disk { .. });
            let already_lost = kept.lost.len();
            let joined: Vec<SignedManifest> = kept.fill(lost, &found).into_iter().cloned().collect();
            if !joined.is_empty() {
                tracing::warn!(first, last, ledger = %self.ledger, "the folder had lost the manifest of archived positions; it was taken from the store");
                if self.access == ArchiveAccess::Writing && is_readable {
                    self.put_back(&files, &joined);
                }
            }
            recovered.manifests.extend(joined);
            for lost in kept.lost.iter_mut().skip(already_lost) {
                let (first, last, error) = (lost.first, lost.last, Arc::clone(&lost.error));
                recovered.still_lost.push(ManifestFolderError::Lost {
                    first,
                    last,
                    error,
                    why: why.to_string(),
                });
            }
        }
        recovered
    }

    /// The archives of what is lost, in order.
    fn find(
        &self,
        kept: &ManifestSet,
        lost: &LostManifests,
    ) -> Result<Vec<SignedManifest>, ManifestRecoveryError> {
        let (before, after) = kept.neighbours(lost);
        let mut found = find(self.objects, self.ledger, self.signers, |range| {
            // Where no name says how far archives went, the last one may go on behind what is missed.
            let is_within = range.last().get() <= lost.named
                || lost.last > lost.named && range.first().get() <= lost.last;
            range.first().get() >= lost.first && is_within
        })?;
        let known = KnownSegments::read(self.disk, self.folder.ledger())?;
        let mut wrong = None;
        for one in &mut found {
            let Some(what) = one.manifest().and_then(|manifest| difference(manifest, &known)) else {
                continue;
            };
            wrong.get_or_insert_with(|| ManifestRecoveryError::Differs {
                object: self.objects.shown(&one.name),
                what,
            });
            let source = ArchiveError::Contents { what };
            one.opened = Err(StoredError::Archive { object: one.name.clone(), source });
        }
        give_up_replaced(&mut found);
        let chain = furthest(&found, ChainEnds { before, after }).map_err(StoredError::from)?;
        if chain.is_empty() {
            let damaged = found.into_iter().find_map(|one| one.opened.err());
            return Err(wrong.or(damaged.map(ManifestRecoveryError::Stored)).unwrap_or_else(|| {
                ManifestRecoveryError::None { folder: self.objects.shown(&self.ledger.to_string()) }
            }));
        }
        let manifest =
            |index: &usize| Some(found.get(*index)?.opened.as_ref().ok()?.outline().manifest().clone());
        Ok(chain.iter().filter_map(manifest).collect())
    }

    /// Puts manifests back in the folder, unless somebody has by now. Where the disk refuses, they are known as long as this process
    /// lives, and the next one looks again.
    fn put_back(&self, files: &[String], manifests: &[SignedManifest]) {
        let _alone = PUTTING_BACK.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.read();
        let is_there = |one: &SignedManifest| now.as_ref().is_ok_and(|now| now.manifests.contains(one));
        let missing: Vec<SignedManifest> = manifests.iter().filter(|one| !is_there(one)).cloned().collect();
        if missing.is_empty() {
            return;
        }
        if let Err(error) = self.folder.put_back(self.disk, files, &missing) {
            tracing::warn!(%error, ledger = %self.ledger, "a manifest that was brought back could not be put in its place");
        }
    }
}

/// Does without archives of which an archive of a later generation holds positions as expired.
fn give_up_replaced(found: &mut Vec<FoundArchive>) {
    let expired = found.iter().filter(|one| !one.is_unfinished);
    let expired = expired.filter(|one| one.manifest().is_some_and(|one| one.expiry.is_some()));
    let expired: Vec<(ArchiveRange, Generation)> = expired.map(|one| (one.range, one.generation)).collect();
    found.retain(|one| {
        let replaces = |(range, generation): &(ArchiveRange, Generation)| {
            *generation > one.generation && range.overlaps(one.range)
        };
        !expired.iter().any(replaces)
    });
}

/// Returns a wrong claim of an archive about the ledger's segments, or about the tree where one begins; `None` if there is none.
fn difference(manifest: &Manifest, known: &KnownSegments) -> Option<&'static str> {
    let last = known.segments.last().map(|last| last.start.number);
    let range = manifest.range;
    for link in &manifest.segments {
        let segment = known.segments.iter().find(|segment| segment.start.number == link.number);
        let is_same = segment.is_none_or(|segment| {
            let start = &segment.start;
            let SegmentLink { number, first, epoch, generation, hash } = *link;
            let of_ledger =
                (start.number, start.first_position, start.epoch, start.generation, start.previous);
            of_ledger == (number, first, epoch, generation, hash)
        });
        if !is_same || last.is_none_or(|last| link.number > last) {
            return Some("a segment that begins in it");
        }
    }
    for segment in &known.segments {
        let (number, first) = (segment.start.number, segment.start.first_position);
        if range.contains(first) && !manifest.segments.iter().any(|link| link.number == number) {
            return Some("a segment that begins in it");
        }
        let size = segment.tree.size();
        let root = segment.tree.root();
        if size == range.tree_before() && segment.tree != manifest.tree_before
            || size == range.last().get() && root != manifest.root_after
        {
            return Some("the tree");
        }
    }
    None
}

/// The archives that a ledger knows.
#[derive(Debug)]
pub struct KnownArchives {
    /// The archives, in order.
    pub archives: Vec<KnownArchive>,
    /// The errors of archives that the ledger had and that are not known.
    pub lost: Vec<ManifestFolderError>,
}

/// An archive as a ledger knows it.
#[derive(Debug, Clone)]
pub struct KnownArchive {
    /// Its manifest.
    pub manifest: SignedManifest,
    /// The origin of the manifest.
    pub home: ManifestHome,
}

/// The origin of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestHome {
    /// It is the one that was kept.
    Kept,
    /// The one that was kept was damaged and put aside; this one took its place.
    PutBack,
    /// The one that was kept is lost; this one was taken from the archive just now.
    Archive,
}

/// Returns the archives that the ledger in this folder knows. Manifests that the folder has lost are looked for in the store; nothing is
/// changed.
///
/// # Errors
/// [`ManifestFolderError::Disk`].
pub fn known_archives(
    (objects, disk): (&Arc<dyn Objects>, &dyn Disk),
    folder: &Path,
    ledger: LedgerId,
    signers: &SigningChain,
) -> Result<KnownArchives, ManifestFolderError> {
    let (folder, access) = (&ManifestFolder::of(folder), ArchiveAccess::Reading);
    let recovery = ManifestRecovery { objects, disk, folder, ledger, signers, access };
    let (kept, recovered) = recovery.read_and_mend()?;
    let home = |manifest: &SignedManifest| {
        let range = manifest.manifest().range;
        let is_put_back = |aside: &&ArchiveRange| aside.overlaps(range);
        match kept.put_aside.iter().find(is_put_back) {
            _ if recovered.manifests.contains(manifest) => ManifestHome::Archive,
            Some(_) => ManifestHome::PutBack,
            None => ManifestHome::Kept,
        }
    };
    let archives = kept.manifests.iter().map(|one| KnownArchive { manifest: one.clone(), home: home(one) });
    Ok(KnownArchives { archives: archives.collect(), lost: recovered.still_lost })
}
