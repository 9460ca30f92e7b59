//! The progress of archiving in the background, by ledger.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bitacora_archiver::{ArchiveProgress, ArchiveScrubStatus, ProgressCounts};
use bitacora_formats::LedgerName;

/// The progress of archiving, by ledger.
#[derive(Debug, Default)]
pub(crate) struct Tallies(Mutex<BTreeMap<LedgerName, Arc<ArchiveProgress>>>);

impl Tallies {
    pub(crate) fn of(&self, ledger: &LedgerName) -> Arc<ArchiveProgress> {
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tallies.entry(ledger.clone()).or_default())
    }

    pub(crate) fn now(&self) -> Vec<(LedgerName, ProgressCounts)> {
        let tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.iter().map(|(name, tally)| (name.clone(), tally.now())).collect()
    }

    /// Returns the progress of the scrub over the archives of each ledger.
    pub(crate) fn scrubs(&self) -> Vec<(LedgerName, ArchiveScrubStatus)> {
        let tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.iter().map(|(name, tally)| (name.clone(), tally.scrub())).collect()
    }

    /// Returns the progress of the scrub over the archives of this ledger, if they are scrubbed.
    pub(crate) fn scrub(&self, ledger: &LedgerName) -> Option<ArchiveScrubStatus> {
        let tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.get(ledger).map(|tally| tally.scrub())
    }

    /// An archive of this ledger that its store lacks, of events that lie nowhere else.
    pub(crate) fn missing(&self, ledger: &LedgerName) -> Option<String> {
        let tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.get(ledger)?.missing()
    }

    pub(crate) fn stop(&self) {
        let tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.values().for_each(|tally| tally.stop());
    }
}
