//! The run that removes expired events: count, pack, store, compare, record, keep, remove.
//!
//! Each step rests on the one before. After a crash the next run goes on: a revision that the log records is kept, any other one that was
//! not kept is removed.

use std::collections::BTreeSet;

use bitacora_archive_format::{Revision, SignedManifest};
use bitacora_formats::Position;
use bitacora_ledger::ArchiveAccess;
use bitacora_vocabulary::{Count, Name, RetentionExpired};

use super::recorded_revisions::digest_of;
use super::repacking::ExpiredKinds;
use super::{
    CoveredRetention, ExpiryGrounds, ExpiryReport, ExpiryResult, Repacking, RestingEvents, Retention,
    RevisionComparison, StateCover,
};
use crate::error::ArchiverError;
use crate::stored_archive::StoredArchive;
use crate::throttle::ArchivePace;
use crate::worker::Archiver;

/// The purpose of a run over expired events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryMode {
    /// It counts them.
    DryRun,
    /// It removes them.
    Remove,
}

impl Archiver {
    /// Finishes what earlier runs left, where no policy lets anything expire now: revisions that were not kept go, or are kept if the log
    /// records them, and those before them go. So does expired content in archives of earlier generations.
    ///
    /// # Errors
    /// An [`ArchiverError`]; the next call goes on.
    pub fn settle_expiry(&self, pace: ArchivePace) -> Result<(), ArchiverError> {
        let _alone = self.lock()?;
        self.remove_leftovers()?;
        let mut kept = self.known_manifests(ArchiveAccess::Writing)?;
        self.settle_revisions(&mut kept, pace)?;
        self.settle_copies(&kept, pace)
    }

    /// Removes the content of expired events from the archives, or counts it, and reports each archive that holds any. What is reported as
    /// removed is recorded, and no archive in the store holds it any more. An archive that is missing or damaged holds up no other.
    ///
    /// # Errors
    /// The first [`ArchiverError`]. What was reported stands; the next run goes on.
    pub fn expire(
        &self,
        retention: &dyn Retention,
        mode: ExpiryMode,
        pace: ArchivePace,
        report: &mut dyn FnMut(ExpiryReport),
    ) -> Result<(), ArchiverError> {
        let access = match mode {
            ExpiryMode::DryRun => ArchiveAccess::Reading,
            ExpiryMode::Remove => ArchiveAccess::Writing,
        };
        let _alone = (mode == ExpiryMode::Remove).then(|| self.lock()).transpose()?;
        if mode == ExpiryMode::Remove {
            self.remove_leftovers()?;
        }
        let mut kept = self.known_manifests(access)?;
        let waiting = match mode {
            ExpiryMode::DryRun => BTreeSet::new(),
            ExpiryMode::Remove => self.settle_revisions(&mut kept, pace)?,
        };
        let is_settled = |one: &&SignedManifest| !waiting.contains(&one.manifest().range.first());
        let mut first_error = None;
        for current in kept.iter().filter(is_settled) {
            match self.expire_one((current, &kept), (retention, mode), pace) {
                Ok(found) => found.into_iter().for_each(&mut *report),
                Err(error) if error.is_of_one_archive() => {
                    tracing::warn!(%error, "events of an archive could not expire now");
                    first_error = first_error.or(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
        if mode == ExpiryMode::Remove {
            // By what is kept now.
            let kept = self.known_manifests(access)?;
            let copies = self.settle_copies(&kept, pace);
            match copies {
                Err(error) if error.is_of_one_archive() => first_error = first_error.or(Some(error)),
                copies => copies?,
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Looks at one of the kept archives. Returns `None` if nothing of it expired.
    fn expire_one(
        &self,
        (current, kept): (&SignedManifest, &[SignedManifest]),
        (retention, mode): (&dyn Retention, ExpiryMode),
        pace: ArchivePace,
    ) -> Result<Option<ExpiryReport>, ArchiverError> {
        let manifest = current.manifest();
        // A revision before the kept one may hold what a hold keeps: no later one is packed before both were compared.
        let is_finished = match mode {
            ExpiryMode::DryRun => true,
            ExpiryMode::Remove => self.remove_before_unrecorded((current, kept), retention, pace)?,
        };
        if !is_finished || !retention.concerns(manifest) {
            return Ok(None);
        }
        let stored = self.open_kept(current)?;
        let repacking = self.repacking(&stored, retention, pace);
        let ExpiredKinds { resting, others: mut kinds } = repacking.count()?;
        if kinds.is_empty() && resting.is_empty() {
            return Ok(None);
        }
        let (range, name, bytes) = (manifest.range, manifest.object_name(), stored.bytes());
        let cover = StateCover::find(&self.ledger, kept, manifest);
        let resting = match &cover {
            StateCover::After(_) => {
                kinds.extend(resting);
                None
            }
            StateCover::None(why) => {
                (!resting.is_empty()).then(|| RestingEvents { kinds: resting, why: why.clone() })
            }
        };
        let result = if kinds.is_empty() { ExpiryResult::WaitsForState } else { ExpiryResult::Due };
        let mut report = ExpiryReport { range, name, kinds, resting, bytes, result };
        // Segments here hold them too.
        if self.ledger.released_through().is_none_or(|released| released < range.last()) {
            report.result = ExpiryResult::WaitsForRelease;
            return Ok(Some(report));
        }
        if mode == ExpiryMode::DryRun || result == ExpiryResult::WaitsForState {
            return Ok(Some(report));
        }
        let retention = &CoveredRetention { retention, cover };
        let revision = self.free_revision(manifest)?;
        let packed = self.repacking(&stored, retention, pace).pack(revision, self.folder.path())?;
        let name = packed.manifest.manifest().object_name();
        let later = self.store_file(&name, &packed.file, &packed.manifest)?;
        let policy = Some(retention.policy());
        let accepted = self.accept_revision((&stored, &later), policy, retention, pace);
        if accepted.as_ref().is_err_and(ArchiverError::refuses_revision) {
            self.remove_object(&name)?;
        }
        accepted?;
        self.remove_replaced(manifest, later.outline().manifest())?;
        report.result = ExpiryResult::Removed { bytes: later.bytes() };
        report.name = name;
        Ok(Some(report))
    }

    pub(super) fn repacking<'a>(
        &'a self,
        stored: &'a StoredArchive,
        retention: &'a dyn Retention,
        pace: ArchivePace,
    ) -> Repacking<'a> {
        let (environment, keyring, progress) = (&self.environment, &*self.keyring, &*self.progress);
        Repacking { stored, retention, environment, keyring, pace, progress }
    }

    /// Records and keeps a revision that is in the store, once it was compared with the one before. Returned `Ok` ⇒ durable.
    fn accept_revision(
        &self,
        (earlier, later): (&StoredArchive, &StoredArchive),
        policy: Option<Position>,
        retention: &CoveredRetention<'_>,
        pace: ArchivePace,
    ) -> Result<(), ArchiverError> {
        let (keyring, progress) = (&*self.keyring, &*self.progress);
        let (grounds, holds) = (ExpiryGrounds::Policy(retention), self.ledger.holds_in_force());
        let compared =
            RevisionComparison { earlier, later, policy, grounds, holds: &holds, keyring, pace, progress };
        let newly = compared.check()?;
        let manifest = later.outline().manifest();
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
            manifest_sha256: digest_of(manifest),
            policy: newly.policy.into(),
        };
        self.ledger.record_expiry(&expired, &holds)?;
        self.keep(manifest)?;
        self.ledger.forget_archived();
        // Behind the keeping: whoever begins to read the log behind this event reads the later revision.
        self.record(&name, range, later)
    }

    /// Looks for revisions before a kept one that no event records: it came back from the store. Each earlier one is compared with it, by
    /// the policy and the holds in force, and none goes that they keep. Returns `true` if none is left.
    fn remove_before_unrecorded(
        &self,
        (kept, all_kept): (&SignedManifest, &[SignedManifest]),
        retention: &dyn Retention,
        pace: ArchivePace,
    ) -> Result<bool, ArchiverError> {
        if kept.manifest().revision() == Revision::FIRST {
            return Ok(true);
        }
        self.remove_earlier(kept.manifest(), |earlier| {
            let cover = StateCover::find(&self.ledger, all_kept, kept.manifest());
            let retention = &CoveredRetention { retention, cover };
            self.accept_revision((earlier, &self.open_kept(kept)?), None, retention, pace)
        })
    }

    /// The archive of a kept manifest.
    pub(super) fn open_kept(&self, kept: &SignedManifest) -> Result<StoredArchive, ArchiverError> {
        let name = kept.manifest().object_name();
        let stored = StoredArchive::open(&self.objects, &name, Some(self.keyring.signing_chain()))?;
        if stored.outline().manifest() == kept {
            return Ok(stored);
        }
        let (object, position) = (stored.shown(), kept.manifest().range.first());
        Err(ArchiverError::Differs { object, position, what: "the manifest, which the ledger kept" })
    }
}
