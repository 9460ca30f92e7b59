//! Copies of expired content: archives in the store that are not kept, as those from before the ledger was restored.
//!
//! Content that the kept archives hold as expired goes from them too, as far as the log records its removal. An archive whose events are all in the
//! kept ones is removed. Any other is packed again without that content: it may hold events that the ledger gave up.

use std::sync::atomic::{AtomicBool, Ordering};

use bitacora_archive_format::{Manifest, Revision, SignedManifest};
use bitacora_formats::Position;
use bitacora_ledger::{HoldsInForce, RecordExpiryError};

use super::{CoveredRetention, ExpiryGrounds, RetainedEvent, Retention, RevisionComparison, StateCover};
use crate::archive_chain::find;
use crate::error::ArchiverError;
use crate::expired_positions::ExpiredPositions;
use crate::stored_archive::StoredArchive;
use crate::throttle::ArchivePace;
use crate::verification::Verification;
use crate::worker::Archiver;

/// The events that the kept archives hold as expired, and that nothing keeps in a copy.
struct ExpiredInKept<'a> {
    expired: ExpiredPositions,
    holds: &'a HoldsInForce,
    cover: StateCover,
    /// Set once an event stays because of a hold, or of a state that is away.
    keeps_any: AtomicBool,
}

impl Retention for ExpiredInKept<'_> {
    fn policy(&self) -> Position {
        self.expired.policy()
    }

    fn concerns(&self, manifest: &Manifest) -> bool {
        manifest.range.overlaps(self.expired.range())
    }

    fn expires(&self, event: &RetainedEvent<'_>) -> bool {
        if self.expired.policy_of(event.position, event.record).is_none() {
            return false;
        }
        let stays = self.holds.cover(event.position, event.record) || !self.cover.allows(event);
        self.keeps_any.fetch_or(stays, Ordering::Relaxed);
        !stays
    }
}

impl Archiver {
    /// Removes content that the kept archives hold as expired from all other archives of the ledger in the store. One that cannot be read
    /// holds up no other.
    pub(super) fn settle_copies(
        &self,
        kept: &[SignedManifest],
        pace: ArchivePace,
    ) -> Result<(), ArchiverError> {
        let with_expired: Vec<_> = kept.iter().filter(|one| one.manifest().expiry.is_some()).collect();
        let concerns = |range| with_expired.iter().any(|one| one.manifest().range.overlaps(range));
        let mut found = find(&self.objects, self.ledger.id(), self.keyring.signing_chain(), concerns)?;
        found.retain(|copy| {
            let is_it = |one: &SignedManifest| {
                (one.manifest().range, one.manifest().origin.generation) == (copy.range, copy.generation)
            };
            !kept.iter().any(is_it)
        });
        // The log is read for what it records of these alone.
        let (mut expired, mut first_error) = (Vec::new(), None);
        for one in with_expired {
            let concerns_it = found.iter().any(|copy| copy.range.overlaps(one.manifest().range));
            // In the first revision a restored ledger may hold them as expired; each is looked up then.
            let is_first = one.manifest().revision() == Revision::FIRST;
            if !concerns_it {
                continue;
            }
            match if is_first { Ok(true) } else { self.is_recorded(one) } {
                Ok(true) => expired.push(one),
                Ok(false) => (),
                Err(error) if error.lacks_records() => first_error = first_error.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        for copy in found {
            let stored = match copy.opened {
                Ok(stored) => stored,
                // Anything else under such a name is nobody's, and is passed over.
                Err(error) => {
                    tracing::warn!(%error, "an object in the place of an archive cannot be looked at");
                    continue;
                }
            };
            match self.settle_copy((&stored, &copy.name), (kept, &expired), pace) {
                Err(error) if error.is_of_one_archive() || error.keeps_content() || error.lacks_records() => {
                    tracing::warn!(%error, object = self.objects.shown(&copy.name), "an archive that is not kept may hold expired content; the next look sees to it again");
                    first_error = first_error.or(Some(error));
                }
                settled => settled?,
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    fn settle_copy(
        &self,
        (copy, name): (&StoredArchive, &str),
        (kept, expired): (&[SignedManifest], &[&SignedManifest]),
        pace: ArchivePace,
    ) -> Result<(), ArchiverError> {
        let range = copy.outline().manifest().manifest().range;
        let mut overlapping = expired.iter().filter(|one| one.manifest().range.overlaps(range));
        let opened = overlapping.clone().map(|one| self.open_kept(one));
        let opened: Vec<StoredArchive> = opened.collect::<Result<_, _>>()?;
        let opened: Vec<&StoredArchive> = opened.iter().collect();
        let found = ExpiredPositions::read(&opened, (range, &self.keyring), (pace, &self.progress))?;
        let found = found.map(|found| self.recorded_of(found)).transpose()?.flatten();
        let (Some(expired), Some(last)) = (found, overlapping.next_back()) else { return Ok(()) };
        let holds = self.ledger.holds_in_force();
        let cover = StateCover::find(&self.ledger, kept, last.manifest());
        let keeps_any = AtomicBool::new(false);
        let in_kept = ExpiredInKept { expired, holds: &holds, cover: cover.clone(), keeps_any };
        let retention = CoveredRetention { retention: &in_kept, cover };
        let counted = self.repacking(copy, &retention, pace).count()?;
        if counted.resting.is_empty() && counted.others.is_empty() {
            return Ok(());
        }
        if in_kept.keeps_any.load(Ordering::Relaxed) || !self.is_kept_too(copy, kept, pace)? {
            self.pack_copy(copy, (&retention, &holds), pace)?;
        }
        if self.ledger.holds_in_force() != holds {
            return Err(RecordExpiryError::HeldMeanwhile.into());
        }
        let object = copy.shown();
        tracing::info!(object, "expired content was removed with an archive that is not kept");
        self.remove_object(name)
    }

    /// Returns `true` if the kept archives have every event of this one: their trees end alike, and each of them is whole.
    fn is_kept_too(
        &self,
        copy: &StoredArchive,
        kept: &[SignedManifest],
        pace: ArchivePace,
    ) -> Result<bool, ArchiverError> {
        let Manifest { range, root_after, .. } = copy.outline().manifest().manifest();
        let ends_alike = |one: &Manifest| one.range.last() == range.last() && one.root_after == *root_after;
        if !kept.iter().any(|one| ends_alike(one.manifest())) {
            return Ok(false);
        }
        for one in kept.iter().filter(|one| one.manifest().range.overlaps(*range)) {
            let stored = self.open_kept(one)?;
            Verification::new(&stored, pace, &self.progress).without_keys()?;
        }
        Ok(true)
    }

    /// Packs an archive again as its next revision, without the content that expired, and compares the two.
    fn pack_copy(
        &self,
        copy: &StoredArchive,
        (retention, holds): (&CoveredRetention<'_>, &HoldsInForce),
        pace: ArchivePace,
    ) -> Result<(), ArchiverError> {
        let revision = self.free_revision(copy.outline().manifest().manifest())?;
        let packed = self.repacking(copy, retention, pace).pack(revision, self.folder.path())?;
        let name = packed.manifest.manifest().object_name();
        let later = &self.store_file(&name, &packed.file, &packed.manifest)?;
        let (policy, grounds) = (Some(retention.policy()), ExpiryGrounds::Policy(retention));
        let (keyring, progress) = (&*self.keyring, &*self.progress);
        let compared =
            RevisionComparison { earlier: copy, later, policy, grounds, holds, keyring, pace, progress };
        if let Err(error) = compared.check() {
            self.remove_object(&name)?;
            return Err(error);
        }
        Ok(self.objects.settle(&name)?)
    }
}
