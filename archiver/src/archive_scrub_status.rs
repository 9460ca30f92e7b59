//! The progress of the scrub over archives, as other threads see it.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bitacora_formats::Micros;

use crate::throttle::ArchiveProgress;

/// The archives that are named at most: further ones are counted.
pub(crate) const MAX_NAMED_FAULTS: usize = 16;

/// The progress of the scrub over archives since the program began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchiveScrubStatus {
    /// Rounds that read every byte of every archive and found all of them whole.
    pub rounds: u64,
    /// The times at which the last of them began and ended.
    pub completed: Option<(Micros, Micros)>,
    /// The time that has passed since its end.
    pub age: Option<Duration>,
    /// Bytes that were read in all rounds.
    pub bytes: u64,
    /// Archives that were found damaged or missing, counted in each round anew.
    pub faults: u64,
    /// The archives that were found damaged or missing when they were read last.
    pub faulty: Vec<ArchiveFault>,
}

/// An archive that is damaged or missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFault {
    /// Its name in the store.
    pub name: String,
    /// A sentence that names it and says what is wrong.
    pub what: String,
    /// `true` if its events lie nowhere else.
    pub is_only_copy: bool,
}

/// The same, as the scrub notes it.
#[derive(Debug, Default)]
pub(crate) struct ScrubTally {
    rounds: u64,
    completed: Option<(Micros, Micros, Instant)>,
    bytes: u64,
    faults: u64,
    faulty: Vec<ArchiveFault>,
}

impl ArchiveProgress {
    /// Returns the progress of the scrub over archives.
    #[must_use]
    pub fn scrub(&self) -> ArchiveScrubStatus {
        let tally = self.tally();
        ArchiveScrubStatus {
            rounds: tally.rounds,
            completed: tally.completed.map(|(began, ended, _)| (began, ended)),
            age: tally.completed.map(|(_, _, at)| at.elapsed()),
            bytes: tally.bytes,
            faults: tally.faults,
            faulty: tally.faulty.clone(),
        }
    }

    fn tally(&self) -> MutexGuard<'_, ScrubTally> {
        self.scrub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn scrubbed(&self, bytes: u64) {
        self.tally().bytes += bytes;
    }

    /// Notes an archive that is damaged or missing.
    pub(crate) fn found_faulty(&self, fault: ArchiveFault) {
        let mut tally = self.tally();
        tally.faults += 1;
        tally.faulty.retain(|known| known.name != fault.name);
        if tally.faulty.len() < MAX_NAMED_FAULTS {
            tally.faulty.push(fault);
        }
    }

    /// Notes that an archive was found whole.
    pub(crate) fn found_whole(&self, name: &str) {
        self.tally().faulty.retain(|known| known.name != name);
    }

    /// Notes the end of a round over these archives. It counts if it found all of them whole.
    pub(crate) fn ended_round(&self, names: &[String], is_whole: bool, (began, ended): (Micros, Micros)) {
        let mut tally = self.tally();
        // An archive that the ledger has no more is no fault.
        tally.faulty.retain(|known| names.contains(&known.name));
        if is_whole {
            tally.rounds += 1;
            tally.completed = Some((began, ended, Instant::now()));
        }
    }
}
