//! Revisions that the log records: each takes the place of the ones before it, whatever the policy is by now. Only a legal hold keeps the
//! content longer, and a state that decisions rest on and that is away.

use std::sync::{MutexGuard, PoisonError};

use bitacora_archive_format::{Revision, SignedManifest};
use bitacora_ledger::RecordedArchives;
use bitacora_vocabulary::Sha256Text;
use sha2::{Digest, Sha256};

use super::{ExpiryGrounds, RevisionComparison, StateCover};
use crate::error::ArchiverError;
use crate::expired_positions::ExpiredPositions;
use crate::stored_archive::StoredArchive;
use crate::throttle::ArchivePace;
use crate::verification::Verification;
use crate::worker::Archiver;

impl Archiver {
    /// Returns `true` if the log records the removal that made the revision with this manifest.
    pub(super) fn is_recorded(&self, revision: &SignedManifest) -> Result<bool, ArchiverError> {
        let digest = digest_of(revision);
        match self.recorded() {
            // What was read before the archive that is away may tell it.
            Err(error) if error.lacks_records() => {
                let read = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
                if read.has_removal(&digest) { Ok(true) } else { Err(error) }
            }
            recorded => Ok(recorded?.has_removal(&digest)),
        }
    }

    /// The archives that the log records by now. A look reads each of these events once, however many archives it asks for.
    fn recorded(&self) -> Result<MutexGuard<'_, RecordedArchives>, ArchiverError> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.read_on(|query| self.ledger.read(query))?;
        Ok(recorded)
    }

    /// Returns those of the expired events whose removal the log records; `None` if there is none. A restored ledger holds events as expired
    /// whose record it lost, or whose removal never came to be recorded.
    pub(super) fn recorded_of(
        &self,
        expired: ExpiredPositions,
    ) -> Result<Option<ExpiredPositions>, ArchiverError> {
        let recorded = self.recorded()?;
        Ok(expired.only(|position, policy| recorded.has_removed(position, policy)))
    }

    /// Returns `true` if the kept revision holds content that has to stay by now, and that a later, recorded one does not hold. It stays
    /// kept then.
    pub(super) fn holds_content(
        &self,
        (kept, all_kept): (&SignedManifest, &[SignedManifest]),
        later: &StoredArchive,
        pace: ArchivePace,
    ) -> Result<bool, ArchiverError> {
        let compared = self
            .open_kept(kept)
            .and_then(|earlier| self.compare_recorded((&earlier, later), (kept, all_kept), pace));
        // A later one that is damaged takes the place of nothing.
        let is_whole = || Verification::new(later, pace, &self.progress).without_keys().is_ok();
        match compared {
            Err(error) if error.keeps_content() => {
                let object = later.shown();
                tracing::warn!(%error, object, "a removal that the log records waits");
                Ok(true)
            }
            Err(error) if error.is_of_one_archive() && (!error.is_damage() || !is_whole()) => {
                let object = later.shown();
                tracing::warn!(%error, object, "a removal that the log records waits until both archives can be compared");
                Ok(true)
            }
            // Of what is damaged nothing is left to be kept. It stays in the store.
            Err(error) if error.is_of_one_archive() => Ok(false),
            compared => compared.map(|()| false),
        }
    }

    /// Removes the revisions before a kept one that the log records, once each was compared with it. Returns `false` if one has to wait.
    pub(super) fn remove_before_recorded(
        &self,
        (kept, all_kept): (&SignedManifest, &[SignedManifest]),
        pace: ArchivePace,
    ) -> Result<bool, ArchiverError> {
        if !self.is_recorded(kept)? {
            return Ok(true);
        }
        let later = match self.open_kept(kept) {
            Err(error) if error.is_of_one_archive() => {
                tracing::warn!(%error, "earlier revisions of an archive stay in the store until it is whole");
                return Ok(false);
            }
            opened => opened?,
        };
        self.remove_earlier(kept.manifest(), |earlier| {
            self.compare_recorded((earlier, &later), (kept, all_kept), pace)
        })
    }

    fn compare_recorded(
        &self,
        (earlier, later): (&StoredArchive, &StoredArchive),
        (kept, all_kept): (&SignedManifest, &[SignedManifest]),
        pace: ArchivePace,
    ) -> Result<(), ArchiverError> {
        let cover = StateCover::find(&self.ledger, all_kept, kept.manifest());
        let (grounds, holds) = (ExpiryGrounds::Recorded(&cover), self.ledger.holds_in_force());
        let (keyring, progress) = (&*self.keyring, &*self.progress);
        let holds = &holds;
        let compared =
            RevisionComparison { earlier, later, policy: None, grounds, holds, keyring, pace, progress };
        compared.check().map(drop)
    }

    /// Has the log seal a kept revision whose removal it records, unless it does: a run ended between the two, and may have left nothing else.
    pub(super) fn seal_recorded(&self, kept: &SignedManifest) -> Result<(), ArchiverError> {
        if kept.manifest().revision() == Revision::FIRST {
            return Ok(());
        }
        let digest = digest_of(kept);
        let is_due = match self.recorded() {
            // An archive that is missing holds up no other: a later look asks again.
            Err(error) if error.lacks_records() => {
                tracing::warn!(%error, "whether the log seals an archive is not known from archives");
                false
            }
            recorded => {
                let recorded = recorded?;
                recorded.has_removal(&digest) && !recorded.has_seal(&digest)
            }
        };
        if !is_due {
            return Ok(());
        }
        match self.open_kept(kept) {
            Ok(stored) => self.record(&kept.manifest().object_name(), kept.manifest().range, &stored),
            Err(error) if error.is_of_one_archive() => {
                tracing::warn!(%error, "the log does not seal an archive until it is whole");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

pub(crate) fn digest_of(manifest: &SignedManifest) -> Sha256Text {
    Sha256Text::of_digest(&Sha256::digest(manifest.note().to_string().as_bytes()).into())
}
