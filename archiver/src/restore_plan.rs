//! The choice of archives for a restoration: those that join and go furthest; and the others' fate.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bitacora_archive_format::{ArchiveRange, SignedManifest};
use bitacora_formats::{Keyring, LedgerId, SigningChain};
use bitacora_ledger::{KnownSegments, RecordedArchives};
use bitacora_vocabulary::{EventData, RetentionExpired};

use crate::archive_chain::{ChainEnds, FoundArchive, find, furthest};
use crate::archive_store::Objects;
use crate::error::{ArchiverError, StoredError};
use crate::expiry::expired_rows::record_of;
use crate::expiry::recorded_revisions::digest_of;
use crate::restoring::RestoringError;
use crate::same_history::is_of_history;
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};
use crate::verification::Verification;

/// The reach that archives need for a ledger to be made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreScope {
    /// As far as any archive of the ledger in the store: none may lie behind those that join.
    Whole,
    /// As far as they join.
    AsFarAsPossible,
}

/// An archive of the ledger that it was not made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedArchive {
    /// Its name in the store.
    pub name: String,
    /// The range that it holds, as its name says.
    pub range: ArchiveRange,
    /// The reason for which it was not needed, or of no use.
    pub why: UnusedReason,
}

/// The reasons for which an archive was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnusedReason {
    /// Others hold its positions.
    Replaced,
    /// It holds positions behind those that were restored, and joins none of the archives that these are in.
    Apart,
    /// It cannot be read, or is not what it has to be.
    Unusable(String),
}

impl UnusedReason {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Apart => "apart",
            Self::Unusable(_) => "unusable",
        }
    }
}

impl fmt::Display for UnusedReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced => formatter.write_str("its positions were restored of other archives"),
            Self::Apart => formatter.write_str("it does not go on from the archives that were restored"),
            Self::Unusable(what) => formatter.write_str(what),
        }
    }
}

/// All archives of a ledger in a store.
pub(crate) struct RestorableArchives {
    found: Vec<FoundArchive>,
}

impl RestorableArchives {
    /// Those of the history that these segments are of, where any are named.
    pub(crate) fn find(
        objects: &Arc<dyn Objects>,
        ledger: LedgerId,
        signers: &SigningChain,
        of: Option<&KnownSegments>,
    ) -> Result<Self, StoredError> {
        let mut found = find(objects, ledger, signers, |_| true)?;
        if let Some(known) = of {
            found.retain(|one| {
                let manifest = one.manifest();
                manifest.is_none_or(|manifest| is_of_history(manifest.range, &manifest.segments, known))
            });
        }
        Ok(Self { found })
    }

    /// Finds the revisions whose removals were recorded among those that lie beside an earlier one: by the events in these archives, and by the
    /// manifests that a damaged folder `kept`. Both are read only where there is such a revision.
    pub(crate) fn find_records(
        &mut self,
        kept: impl FnOnce() -> Result<Vec<SignedManifest>, ArchiverError>,
        keyring: &Keyring,
        progress: &ArchiveProgress,
    ) -> Result<(), ArchiverError> {
        let unfinished = self.found.iter().filter(|one| one.is_unfinished);
        let Some(first) = unfinished.map(|one| one.range.first()).min() else { return Ok(()) };
        let (kept, mut recorded) = (kept()?, RecordedArchives::default());
        let may_record = |one: &&FoundArchive| {
            // Of an unfinished one too: its events are the log's, whatever was removed from it.
            let is_behind = one.range.last() > first;
            let kinds = one.manifest().map(|manifest| &manifest.kinds).filter(|_| is_behind);
            kinds.is_some_and(|kinds| kinds.iter().any(|(kind, _)| kind == RetentionExpired::KIND))
        };
        for stored in self.found.iter().filter(may_record).filter_map(|one| one.opened.as_ref().ok()) {
            let verification = Verification::new(stored, ArchivePace::Full { threads: 1 }, progress);
            let read = verification.each_group(keyring, |first, rows| {
                for (index, row) in (0..).zip(rows.iter()) {
                    let record = record_of(first.plus(index).unwrap_or(first), &row);
                    recorded.note(&record.map_err(|error| ArchiverError::from(stored.wrong(error)))?);
                }
                Ok(())
            });
            match read {
                Err(ArchiverError::Stored(error)) if error.is_of_one_archive() => {
                    tracing::warn!(%error, "an archive that may record a removal cannot be read; the archive before the removal counts");
                }
                read => read?,
            }
        }
        for one in self.found.iter_mut().filter(|one| one.is_unfinished) {
            let Ok(stored) = &one.opened else { continue };
            let manifest = stored.outline().manifest();
            one.is_unfinished = !kept.contains(manifest) && !recorded.has_removal(&digest_of(manifest));
        }
        Ok(())
    }

    /// Those that join from the first event on and go furthest, by their places. None where there are none, or none that join.
    ///
    /// # Errors
    /// [`RestoringError`] where one is needed that is missing or cannot be used, unless that may be.
    pub(crate) fn chain(&mut self, reach: RestoreScope) -> Result<Vec<usize>, RestoringError> {
        let chain =
            furthest(&self.found, ChainEnds { before: None, after: None }).map_err(StoredError::from)?;
        let end = self.end_of(&chain);
        let behind = || self.found.iter().enumerate().filter(|(_, one)| one.range.last().get() > end);
        let Some((_, first)) = behind().next().filter(|_| reach == RestoreScope::Whole) else {
            return Ok(chain);
        };
        if first.range.tree_before() > end {
            let (object, last) = (first.name.clone(), first.range.tree_before());
            return Err(RestoringError::Gap { first: end + 1, last, object });
        }
        let (object, range) = (first.name.clone(), first.range);
        let adjoins = |one: &FoundArchive| one.range.tree_before() <= end;
        let unusable = behind().find(|(_, one)| adjoins(one) && one.opened.is_err());
        let unusable = unusable.map(|(index, _)| index).map(|index| self.found.swap_remove(index));
        match unusable {
            Some(FoundArchive { range, opened: Err(source), .. }) => {
                Err(RestoringError::Unusable { range, source })
            }
            _ => Err(RestoringError::Apart { object, range, end }),
        }
    }

    /// The archives of a chain, in order.
    pub(crate) fn of(&self, chain: &[usize]) -> impl Iterator<Item = &StoredArchive> {
        chain.iter().filter_map(|index| self.found.get(*index)?.opened.as_ref().ok())
    }

    /// The archives that hold positions of this one of a chain as expired and are later ones, by their signed manifests, and not unfinished.
    /// Content that expired in them does not come back with it.
    pub(crate) fn later_removals(&self, chain: &[usize], place: usize) -> Vec<&StoredArchive> {
        let Some(used) = chain.get(place).and_then(|index| self.found.get(*index)) else { return Vec::new() };
        let is_later = |one: &&FoundArchive| {
            (one.generation, one.revision) > (used.generation, used.revision)
                && one.range.overlaps(used.range)
                && !one.is_unfinished
                && one.manifest().is_some_and(|manifest| manifest.expiry.is_some())
        };
        self.found.iter().filter(is_later).filter_map(|one| one.opened.as_ref().ok()).collect()
    }

    /// The one at this place of a chain is not used any more.
    pub(crate) fn give_up(&mut self, chain: &[usize], place: usize, error: StoredError) {
        if let Some(one) = chain.get(place).and_then(|index| self.found.get_mut(*index)) {
            one.opened = Err(error);
        }
    }

    /// Those that are not of a chain, and why.
    pub(crate) fn unused(&self, chain: &[usize]) -> Vec<UnusedArchive> {
        let (used, end): (BTreeSet<&usize>, u64) = (chain.iter().collect(), self.end_of(chain));
        let others = self.found.iter().enumerate().filter(|(index, _)| !used.contains(index));
        let why = |one: &FoundArchive| match &one.opened {
            Err(error) => UnusedReason::Unusable(error.to_string()),
            Ok(_) if one.range.last().get() > end => UnusedReason::Apart,
            Ok(_) => UnusedReason::Replaced,
        };
        let unused =
            |one: &FoundArchive| UnusedArchive { name: one.name.clone(), range: one.range, why: why(one) };
        others.map(|(_, one)| unused(one)).collect()
    }

    /// The last position of a chain; 0 where it has none.
    fn end_of(&self, chain: &[usize]) -> u64 {
        let last = chain.last().and_then(|last| self.found.get(*last));
        last.map_or(0, |last| last.range.last().get())
    }
}
