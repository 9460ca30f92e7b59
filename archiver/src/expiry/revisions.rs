//! The revisions of an archive in the store: the next free name, and the removal of those that are not kept.

use std::collections::{BTreeMap, BTreeSet};

use bitacora_archive_format::{ArchiveRange, Manifest, Revision, SignedManifest};

use crate::archive_store::ArchiveStoreError;
use crate::error::ArchiverError;
use crate::later_revision::{is_same_but_for_expiry, later_revision};
use crate::stored_archive::StoredArchive;
use crate::worker::Archiver;

/// A revision of an archive, by its object in the store.
pub(super) struct StoredRevision {
    pub(super) revision: Revision,
    pub(super) name: String,
}

impl Archiver {
    /// Keeps the later revisions of archives whose kept revision the store does not have: the manifests are from an older copy.
    pub(super) fn keep_later_revisions(&self, kept: &mut [SignedManifest]) -> Result<(), ArchiverError> {
        let mut listed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for manifest in kept {
            let name = manifest.manifest().object_name();
            let (folder, object) = name.rsplit_once('/').unwrap_or_default();
            if !listed.contains_key(folder) {
                let objects = self.objects.list(folder)?.objects.into_iter();
                listed.insert(folder.to_owned(), objects.map(|(object, _)| object).collect());
            }
            if listed.get(folder).is_some_and(|objects| objects.contains(object)) {
                continue;
            }
            let signers = self.keyring.signing_chain();
            if let Some(later) = later_revision(&self.objects, manifest.manifest(), signers) {
                let object = later.shown();
                tracing::warn!(
                    object,
                    "the folder's manifest was of an earlier revision of this archive, which is gone; this one is kept"
                );
                *manifest = later.outline().manifest().clone();
                self.keep(manifest)?;
                self.ledger.forget_archived();
            }
        }
        Ok(())
    }

    /// Removes the revisions before the one that is kept, once that one is seen in the store.
    pub(super) fn remove_before(&self, kept: &SignedManifest) -> Result<(), ArchiverError> {
        self.open_kept(kept)?;
        for replaced in self.revisions_before(kept.manifest())? {
            self.remove_object(&replaced.name)?;
        }
        Ok(())
    }

    /// Removes revisions behind the kept one, which was read whole just now: the runs that made them did not come to keep them.
    pub(super) fn remove_unkept(&self, kept: &Manifest) -> Result<(), ArchiverError> {
        let later = self.revisions(kept)?.into_iter().filter(|one| one.revision > kept.revision());
        for unkept in later {
            // Anything else under such a name is nobody's, and is passed over.
            let opened = StoredArchive::open(&self.objects, &unkept.name, Some(self.keyring.signing_chain()));
            let is_ours =
                |one: StoredArchive| is_same_but_for_expiry(kept, one.outline().manifest().manifest());
            if opened.is_ok_and(is_ours) {
                self.remove_object(&unkept.name)?;
            }
        }
        Ok(())
    }

    pub(super) fn remove_object(&self, name: &str) -> Result<(), ArchiverError> {
        match self.objects.remove(name) {
            Ok(()) | Err(ArchiveStoreError::Missing { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn revisions_before(&self, manifest: &Manifest) -> Result<Vec<StoredRevision>, ArchiverError> {
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
