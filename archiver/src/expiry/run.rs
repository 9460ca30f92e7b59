//! The run that removes expired events: count, pack, store, compare, record, keep, remove.
//!
//! Each step rests on the one before. After a crash the next run accepts a revision that is in the store already, or packs a later one.

use bitacora_archive_format::{ArchiveRange, Manifest, Revision, SignedManifest};
use bitacora_ledger::ArchiveAccess;
use bitacora_vocabulary::{Count, Name, RetentionExpired, Sha256Text};
use sha2::{Digest, Sha256};

use super::repacking::ExpiredCount;
use super::{ExpiryReport, ExpiryResult, Repacking, Retention, RevisionComparison};
use crate::archive_store::ArchiveStoreError;
use crate::error::ArchiverError;
use crate::stored_archive::StoredArchive;
use crate::throttle::ArchivePace;
use crate::worker::Archiver;

/// The version of a ledger's rules where nothing governs, and no state rests on its events.
const UNGOVERNED: u32 = 0;

/// What a run does with expired events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryMode {
    /// It counts them.
    DryRun,
    /// It removes them.
    Remove,
}

/// A revision of an archive, by its object in the store.
struct StoredRevision {
    revision: Revision,
    name: String,
}

impl Archiver {
    /// Removes the content of expired events from the archives, or counts it. Returned `Ok` ⇒ what is reported as removed is recorded, and
    /// no archive in the store holds it any more. Archives without expired events are not reported.
    ///
    /// # Errors
    /// [`ArchiverError`]. Archives that were packed again before stand; the next run goes on.
    pub fn expire(
        &self,
        retention: &dyn Retention,
        mode: ExpiryMode,
        pace: ArchivePace,
    ) -> Result<Vec<ExpiryReport>, ArchiverError> {
        let access = match mode {
            ExpiryMode::DryRun => ArchiveAccess::Reading,
            ExpiryMode::Remove => ArchiveAccess::Writing,
        };
        let _alone = (mode == ExpiryMode::Remove).then(|| self.lock()).transpose()?;
        let mut kept = self.known_manifests(access)?;
        let mut reports = Vec::new();
        for index in 0..kept.len() {
            let Some(mut current) = kept.get(index).cloned() else { break };
            if mode == ExpiryMode::Remove {
                current = self.finish_earlier_run(current, pace)?;
            }
            let report = self.expire_one(&current, &kept, (retention, mode), pace)?;
            if let Some((report, replaced_by)) = report {
                reports.push(report);
                current = replaced_by.unwrap_or(current);
            }
            if let Some(slot) = kept.get_mut(index) {
                *slot = current;
            }
        }
        Ok(reports)
    }

    /// Looks at one archive. Returns `None` if nothing of it expired, and its new manifest if it was packed again.
    fn expire_one(
        &self,
        current: &SignedManifest,
        kept: &[SignedManifest],
        (retention, mode): (&dyn Retention, ExpiryMode),
        pace: ArchivePace,
    ) -> Result<Option<(ExpiryReport, Option<SignedManifest>)>, ArchiverError> {
        let manifest = current.manifest();
        if !retention.concerns(manifest) {
            return Ok(None);
        }
        let stored = self.open_kept(current)?;
        let repacking = Repacking {
            stored: &stored,
            retention,
            environment: &self.environment,
            keyring: &self.keyring,
            pace,
            progress: &self.progress,
        };
        let ExpiredCount { kinds, last } = repacking.count()?;
        let Some(last) = last else { return Ok(None) };
        let (range, name, bytes) = (manifest.range, manifest.object_name(), stored.bytes());
        let mut report = ExpiryReport { range, name, kinds, last, bytes, result: ExpiryResult::Due };
        if let Some(waits) = self.reason_to_wait(&report, kept) {
            report.result = waits;
            return Ok(Some((report, None)));
        }
        if mode == ExpiryMode::DryRun {
            return Ok(Some((report, None)));
        }
        let revision = self.free_revision(manifest)?;
        let packed = repacking.pack(revision, self.folder.path())?;
        let name = packed.manifest.manifest().object_name();
        let later = self.store_file(&name, &packed.file, &packed.manifest)?;
        let replaced_by = self.accept_revision(&stored, &later, pace)?;
        self.remove_replaced(&replaced_by)?;
        report.result = ExpiryResult::Removed { bytes: later.bytes() };
        report.name = name;
        Ok(Some((report, Some(replaced_by))))
    }

    /// Events stay while segments here hold them too, and until the deciding state stands behind them in an archive.
    fn reason_to_wait(&self, report: &ExpiryReport, kept: &[SignedManifest]) -> Option<ExpiryResult> {
        let released = self.ledger.released_through();
        if released.is_none_or(|released| released < report.range.last()) {
            return Some(ExpiryResult::WaitsForRelease);
        }
        let reactor = self.ledger.reactor_version();
        if reactor == UNGOVERNED {
            return None;
        }
        let stands_behind = |one: &SignedManifest| {
            let manifest = one.manifest();
            manifest.reactor == reactor && manifest.state.is_some_and(|state| state.position >= report.last)
        };
        (!kept.iter().any(stands_behind)).then_some(ExpiryResult::WaitsForState)
    }

    /// Records and keeps a revision that is in the store, once it was compared with the one before.
    fn accept_revision(
        &self,
        earlier: &StoredArchive,
        later: &StoredArchive,
        pace: ArchivePace,
    ) -> Result<SignedManifest, ArchiverError> {
        let (keyring, progress) = (&*self.keyring, &*self.progress);
        let holds = self.ledger.holds_in_force();
        let newly = RevisionComparison { earlier, later, holds: &holds, keyring, pace, progress }.check()?;
        let manifest = later.outline().manifest().clone();
        let name = manifest.manifest().object_name();
        self.objects.settle(&name)?;
        let unrecordable = || ArchiverError::Differs {
            object: later.shown(),
            position: manifest.manifest().range.first(),
            what: "the name or a number of the archive",
        };
        let count = |number: u64| Count::new(number).map_err(|_| unrecordable());
        let range = manifest.manifest().range;
        let expired = RetentionExpired {
            first: range.first().into(),
            last: range.last().into(),
            events: count(newly.events)?,
            archive: Name::new(name.as_str()).map_err(|_| unrecordable())?,
            revision: count(manifest.manifest().revision().get().into())?,
            manifest_sha256: Sha256Text::of_digest(
                &Sha256::digest(manifest.note().to_string().as_bytes()).into(),
            ),
            policy: newly.policy.into(),
        };
        self.ledger.record_expiry(&expired, &holds)?;
        self.record(&name, range, later)?;
        self.keep(&manifest)?;
        self.ledger.forget_archived();
        Ok(manifest)
    }

    /// Goes on where an earlier run ended: accepts the revision that it had put into the store, and removes the one that it replaced.
    fn finish_earlier_run(
        &self,
        current: SignedManifest,
        pace: ArchivePace,
    ) -> Result<SignedManifest, ArchiverError> {
        let revisions = self.revisions(current.manifest())?;
        let next = current.manifest().revision().next();
        let unrecorded = revisions.iter().find(|one| Some(one.revision) == next);
        let mut newest = current;
        if let Some(unrecorded) = unrecorded {
            let earlier = self.open_kept(&newest)?;
            match self.unrecorded(&earlier, &unrecorded.name, pace) {
                Ok(manifest) => newest = manifest,
                Err(ArchiverError::Stored(error)) if error.is_of_one_archive() => {
                    tracing::warn!(%error, "an object in the place of a later revision of an archive is none; it is not used");
                }
                Err(ArchiverError::Differs { object, what, .. }) => {
                    tracing::warn!(
                        object,
                        what,
                        "a later revision of an archive differs from it; it is not used"
                    );
                }
                Err(error) => return Err(error),
            }
        }
        if newest.manifest().revision() > Revision::FIRST {
            self.remove_replaced(&newest)?;
        }
        Ok(newest)
    }

    fn unrecorded(
        &self,
        earlier: &StoredArchive,
        name: &str,
        pace: ArchivePace,
    ) -> Result<SignedManifest, ArchiverError> {
        let later = StoredArchive::open(&self.objects, name, Some(self.keyring.signing_chain()))?;
        self.accept_revision(earlier, &later, pace)
    }

    /// Removes the revisions before the one that is kept, once that one is seen in the store.
    fn remove_replaced(&self, kept: &SignedManifest) -> Result<(), ArchiverError> {
        let manifest = kept.manifest();
        let earlier: Vec<StoredRevision> =
            self.revisions(manifest)?.into_iter().filter(|one| one.revision < manifest.revision()).collect();
        if earlier.is_empty() {
            return Ok(());
        }
        self.open_kept(kept)?;
        for replaced in earlier {
            match self.objects.remove(&replaced.name) {
                Ok(()) | Err(ArchiveStoreError::Missing { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
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

    /// A revision behind all that are in the store.
    fn free_revision(&self, manifest: &Manifest) -> Result<Revision, ArchiverError> {
        let taken = self.revisions(manifest)?.into_iter().map(|one| one.revision).max();
        let last = taken.unwrap_or(Revision::FIRST).max(manifest.revision());
        last.next().ok_or_else(|| {
            let object = self.objects.shown(&manifest.object_name());
            ArchiverError::from(ArchiveStoreError::Exists { object })
        })
    }

    /// The archive of a kept manifest.
    fn open_kept(&self, kept: &SignedManifest) -> Result<StoredArchive, ArchiverError> {
        let name = kept.manifest().object_name();
        let stored = StoredArchive::open(&self.objects, &name, Some(self.keyring.signing_chain()))?;
        if stored.outline().manifest() == kept {
            return Ok(stored);
        }
        let (object, position) = (stored.shown(), kept.manifest().range.first());
        Err(ArchiverError::Differs { object, position, what: "the manifest, which the ledger kept" })
    }
}
