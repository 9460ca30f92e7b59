//! The revisions of an archive in the store: the next free name, and the removal of those that are not kept.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_archive_format::{ArchiveRange, Manifest, Revision, SignedManifest};
use bitacora_formats::Position;

use crate::archive_store::ArchiveStoreError;
use crate::error::ArchiverError;
use crate::later_revision::{is_same_but_for_expiry, later_revisions};
use crate::stored_archive::StoredArchive;
use crate::throttle::ArchivePace;
use crate::verification::Verification;
use crate::worker::Archiver;

/// A revision of an archive, by its object in the store.
pub(super) struct StoredRevision {
    pub(super) revision: Revision,
    pub(super) name: String,
}

impl Archiver {
    /// Looks at the revisions beside those that are kept. The latest one that the log records is kept instead; without such a one the latest,
    /// if the store has no other: the manifests are from an older copy then. Any other later one goes: its run did not come to record it. The
    /// log seals each one that it records and that is kept, and earlier ones go then. Returns the first positions of the archives whose
    /// recorded removal has to wait.
    pub(super) fn settle_revisions(
        &self,
        kept: &mut [SignedManifest],
        pace: ArchivePace,
    ) -> Result<BTreeSet<Position>, ArchiverError> {
        let mut waiting = BTreeSet::new();
        let all = kept.to_vec();
        let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for manifest in kept {
            let name = manifest.manifest().object_name();
            let (folder, object) = name.rsplit_once('/').unwrap_or_default();
            if !folders.contains_key(folder) {
                let objects = self.objects.list(folder)?.objects.into_iter();
                folders.insert(folder.to_owned(), objects.map(|(object, _)| object).collect());
            }
            let Some(listed) = folders.get(folder) else { continue };
            let range = manifest.manifest().range;
            let found = listed.iter().filter_map(|object| ArchiveRange::of_object(object));
            let found: Vec<Revision> =
                found.filter(|(of, _)| *of == range).map(|(_, revision)| revision).collect();
            match self.settle_one((manifest, &all), (&found, listed.contains(object)), pace) {
                Ok(true) => (),
                Ok(false) => {
                    waiting.insert(range.first());
                }
                // It holds up no other archive.
                Err(error) if error.lacks_records() => {
                    tracing::warn!(%error, "what the log records of an archive's revisions is not known; the next look asks again");
                    waiting.insert(range.first());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(waiting)
    }

    /// Looks at the revisions beside one that is kept. Returns `false` if one has to wait.
    fn settle_one(
        &self,
        (kept, all_kept): (&mut SignedManifest, &[SignedManifest]),
        (found, is_there): (&[Revision], bool),
        pace: ArchivePace,
    ) -> Result<bool, ArchiverError> {
        let revision = kept.manifest().revision();
        if found.iter().any(|found| *found > revision)
            && !self.settle_later((kept, all_kept), is_there, pace)?
        {
            return Ok(false);
        }
        self.seal_recorded(kept)?;
        if found.iter().any(|found| *found < kept.manifest().revision()) {
            return self.remove_before_recorded((kept, all_kept), pace);
        }
        Ok(true)
    }

    /// Returns `false` if a later revision, which the log records, has to wait.
    fn settle_later(
        &self,
        (kept, all_kept): (&mut SignedManifest, &[SignedManifest]),
        is_there: bool,
        pace: ArchivePace,
    ) -> Result<bool, ArchiverError> {
        let Some((later, is_recorded)) = self.later_to_keep(kept.manifest())? else { return Ok(true) };
        if is_recorded && is_there && self.holds_content((kept, all_kept), &later, pace)? {
            return Ok(false);
        }
        if is_recorded || !is_there {
            let object = later.shown();
            tracing::warn!(
                object,
                is_recorded,
                "a later revision of an archive than the folder's manifest names is kept"
            );
            *kept = later.outline().manifest().clone();
            self.keep(kept)?;
            self.ledger.forget_archived();
        }
        self.remove_unkept(kept, pace)?;
        Ok(true)
    }

    /// Returns the latest revision behind the kept one that the log records, and `true`; without such a one the latest, and `false`.
    fn later_to_keep(&self, kept: &Manifest) -> Result<Option<(StoredArchive, bool)>, ArchiverError> {
        let mut latest = None;
        for later in later_revisions(&self.objects, kept, self.keyring.signing_chain()) {
            if self.is_recorded(later.outline().manifest())? {
                return Ok(Some((later, true)));
            }
            latest.get_or_insert(later);
        }
        Ok(latest.map(|latest| (latest, false)))
    }

    /// Removes the revision that another one replaced, once that one is seen in the store.
    pub(super) fn remove_replaced(
        &self,
        replaced: &Manifest,
        kept: &SignedManifest,
    ) -> Result<(), ArchiverError> {
        self.open_kept(kept)?;
        self.remove_object(&replaced.object_name())
    }

    /// Removes revisions behind the kept one, if that one is whole: the runs that made them did not come to record them. It holds all that
    /// they hold.
    fn remove_unkept(&self, kept: &SignedManifest, pace: ArchivePace) -> Result<(), ArchiverError> {
        let (manifest, signers) = (kept.manifest(), Some(self.keyring.signing_chain()));
        let mut unkept = self.revisions(manifest)?;
        unkept.retain(|one| one.revision > manifest.revision());
        if unkept.is_empty() {
            return Ok(());
        }
        let read_whole = |stored: StoredArchive| {
            let verification = Verification::new(&stored, pace, &self.progress);
            verification.contents(&self.keyring, |_, _| Ok::<(), ArchiverError>(())).map(drop)
        };
        match self.open_kept(kept).and_then(read_whole) {
            Err(error) if error.is_of_one_archive() => {
                tracing::warn!(%error, "an archive is not whole; later revisions stay beside it");
                return Ok(());
            }
            read => read?,
        }
        for unkept in unkept {
            // Anything else under such a name is nobody's, and is passed over.
            let opened = StoredArchive::open(&self.objects, &unkept.name, signers);
            let is_ours =
                |one: StoredArchive| is_same_but_for_expiry(manifest, one.outline().manifest().manifest());
            if opened.is_ok_and(is_ours) {
                self.remove_object(&unkept.name)?;
            }
        }
        Ok(())
    }

    /// Removes the revisions before this one for which `compare` returns `Ok`. Returns `false` if one stays.
    pub(super) fn remove_earlier(
        &self,
        kept: &Manifest,
        mut compare: impl FnMut(&StoredArchive) -> Result<(), ArchiverError>,
    ) -> Result<bool, ArchiverError> {
        let mut are_gone = true;
        for before in self.revisions_before(kept)? {
            let stored = StoredArchive::open(&self.objects, &before.name, Some(self.keyring.signing_chain()));
            match stored.map_err(ArchiverError::from).and_then(|earlier| compare(&earlier)) {
                Ok(()) => self.remove_object(&before.name)?,
                Err(error) if error.is_of_one_archive() || error.keeps_content() => {
                    let object = self.objects.shown(&before.name);
                    tracing::warn!(%error, object, "an earlier revision of an archive stays in the store; the next look compares them again");
                    are_gone = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(are_gone)
    }

    pub(super) fn remove_object(&self, name: &str) -> Result<(), ArchiverError> {
        match self.objects.remove(name) {
            Ok(()) | Err(ArchiveStoreError::Missing { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn revisions_before(&self, manifest: &Manifest) -> Result<Vec<StoredRevision>, ArchiverError> {
        let mut revisions = self.revisions(manifest)?;
        revisions.retain(|one| one.revision < manifest.revision());
        Ok(revisions)
    }

    /// Returns the first revision behind the kept one whose name is free in the store.
    pub(super) fn free_revision(&self, manifest: &Manifest) -> Result<Revision, ArchiverError> {
        let taken: BTreeSet<Revision> =
            self.revisions(manifest)?.into_iter().map(|one| one.revision).collect();
        let later = std::iter::successors(manifest.revision().next(), |revision| revision.next());
        later.into_iter().find(|revision| !taken.contains(revision)).ok_or_else(|| {
            let object = self.objects.shown(&manifest.object_name());
            ArchiverError::from(ArchiveStoreError::Exists { object })
        })
    }

    /// The revisions of an archive that the store lists.
    fn revisions(&self, manifest: &Manifest) -> Result<Vec<StoredRevision>, ArchiverError> {
        let Manifest { range, origin, .. } = manifest;
        let folder = format!("{}/g{}", origin.ledger, origin.generation);
        let listed = self.objects.list(&folder)?;
        let of_range = listed.objects.iter().filter_map(|(object, _)| {
            let (found, revision) = ArchiveRange::of_object(object)?;
            let name = range.object_name(origin.ledger, origin.generation, revision);
            (found == *range).then_some(StoredRevision { revision, name })
        });
        Ok(of_range.collect())
    }
}
