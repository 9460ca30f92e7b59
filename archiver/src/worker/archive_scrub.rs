//! The scrub over a ledger's archives: each is read back from its store, every byte of it, again and again.
//!
//! It goes on from part to part and stops when others want the thread. So archiving waits for one part at most.

use std::thread;
use std::time::{Duration, Instant};

use bitacora_archive_format::{ArchiveError, PartKind, SignedManifest, check_roots};
use bitacora_formats::Micros;
use bitacora_ledger::{ArchiveAccess, ScrubOptions};

use super::Archiver;
use crate::archive_scrub_status::ArchiveFault;
use crate::archive_store::ArchiveStoreError;
use crate::error::{ArchiverError, StoredError};
use crate::stored_archive::StoredArchive;

/// The longest sleep before the signal to end is looked at again.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// The place of a scrub in its round, of one ledger.
#[derive(Debug)]
pub struct ArchiveScrub {
    options: ScrubOptions,
    round: Option<ScrubRound>,
    /// The beginning of the next round, at the earliest.
    due: Instant,
}

/// A round that has begun.
#[derive(Debug)]
struct ScrubRound {
    began: Micros,
    /// The archives that are not read yet, the next one last.
    left: Vec<SignedManifest>,
    names: Vec<String>,
    /// The archive that is being read, and the next of its parts.
    open: Option<(StoredArchive, usize)>,
    /// `true` while every archive was whole.
    is_whole: bool,
}

impl ArchiveScrub {
    /// Returns a scrub whose first round is due now.
    #[must_use]
    pub fn new(options: ScrubOptions) -> Self {
        Self { options, round: None, due: Instant::now() }
    }

    /// Returns `true` if there is nothing to read before a later time.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.round.is_none() && Instant::now() < self.due
    }

    /// Ends the round. The next one begins anew, after a pause.
    pub fn give_up(&mut self) {
        self.rest();
    }

    fn rest(&mut self) {
        self.round = None;
        self.due = Instant::now() + self.options.pause;
    }
}

impl Archiver {
    /// Goes on with a scrub until this time, or until its round ends. An archive that is damaged or missing is noted in the progress, and
    /// the round goes on. Returns the archives that were found so.
    ///
    /// # Errors
    /// The store or the disk does not answer; the round ends, and a later one begins anew.
    pub fn scrub(&self, scrub: &mut ArchiveScrub, until: Instant) -> Result<Vec<String>, ArchiverError> {
        let mut found = Vec::new();
        while Instant::now() < until && !scrub.is_resting() && !self.progress.is_stopped() {
            let bytes = match self.scrub_on(scrub, &mut found) {
                Ok(bytes) => bytes,
                Err(error) => {
                    scrub.rest();
                    return Err(error);
                }
            };
            self.progress.scrubbed(bytes);
            self.sleep(bytes, scrub.options.bytes_per_s);
        }
        Ok(found)
    }

    /// Reads the next piece: the end of an archive, or one part. Returns its bytes.
    fn scrub_on(&self, scrub: &mut ArchiveScrub, found: &mut Vec<String>) -> Result<u64, ArchiverError> {
        let Some(round) = &mut scrub.round else {
            scrub.round = self.begin_round()?;
            if scrub.round.is_none() {
                scrub.rest();
            }
            return Ok(0);
        };
        let Some((stored, part)) = &mut round.open else {
            let Some(manifest) = round.left.pop() else {
                let times = (round.began, self.environment.clock.now());
                self.progress.ended_round(&round.names, round.is_whole, times);
                scrub.rest();
                return Ok(0);
            };
            let name = object_name(&manifest);
            return match self.open_again(&name, &manifest) {
                Ok(stored) => {
                    let bytes = stored.bytes() - stored.outline().table().end();
                    round.open = Some((stored, 0));
                    Ok(bytes)
                }
                Err(error) => self.faulty(round, &manifest, error, found),
            };
        };
        match check_part(stored, *part) {
            Ok(Some(bytes)) => {
                *part += 1;
                Ok(bytes)
            }
            Ok(None) => {
                self.progress.found_whole(&object_name(stored.outline().manifest()));
                round.open = None;
                Ok(0)
            }
            Err(error) => {
                let manifest = stored.outline().manifest().clone();
                round.open = None;
                self.faulty(round, &manifest, error.into(), found)
            }
        }
    }

    /// Begins a round over all archives; none where the ledger has none.
    fn begin_round(&self) -> Result<Option<ScrubRound>, ArchiverError> {
        let began = self.environment.clock.now();
        let mut left = self.known_manifests(ArchiveAccess::Reading)?;
        if left.is_empty() {
            return Ok(None);
        }
        left.reverse();
        let names = left.iter().map(object_name).collect();
        Ok(Some(ScrubRound { began, left, names, open: None, is_whole: true }))
    }

    /// Opens an archive, whose manifest has to be the one that the ledger kept.
    fn open_again(&self, name: &str, manifest: &SignedManifest) -> Result<StoredArchive, ArchiverError> {
        let stored = StoredArchive::open(&self.objects, name, Some(self.keyring.signing_chain()))?;
        if stored.outline().manifest() == manifest {
            return Ok(stored);
        }
        let (object, position) = (stored.shown(), manifest.manifest().range.first());
        Err(ArchiverError::Differs { object, position, what: "the manifest, which the ledger kept" })
    }

    /// Notes what is wrong with one archive. Whatever else fails ends the round.
    fn faulty(
        &self,
        round: &mut ScrubRound,
        manifest: &SignedManifest,
        error: ArchiverError,
        found: &mut Vec<String>,
    ) -> Result<u64, ArchiverError> {
        // A later revision may have taken its place since the round began.
        if !self.known_manifests(ArchiveAccess::Reading)?.contains(manifest) {
            return Ok(0);
        }
        let name = object_name(manifest);
        let archive = self.objects.shown(&name);
        let what = match &error {
            ArchiverError::Stored(StoredError::Store(ArchiveStoreError::Missing { .. })) => {
                format!("the archive {archive} is missing")
            }
            ArchiverError::Stored(StoredError::Archive { source, .. }) if !source.is_of_the_keyring() => {
                format!("the archive {archive} is damaged: {source}")
            }
            ArchiverError::Differs { .. } => {
                format!("the archive {archive} is another one than the ledger kept")
            }
            _ => return Err(error),
        };
        let released = self.ledger.released_through();
        let is_only_copy = released.is_some_and(|released| manifest.manifest().range.first() <= released);
        let elsewhere =
            if is_only_copy { "its events lie nowhere else" } else { "segments hold its events too" };
        let what = format!("{what}; {elsewhere}");
        found.push(what.clone());
        self.progress.found_faulty(ArchiveFault { name, what, is_only_copy });
        round.is_whole = false;
        Ok(0)
    }

    /// Sleeps for as long as so many bytes take at this rate, or until it is told to stop.
    fn sleep(&self, bytes: u64, bytes_per_s: u64) {
        let mut left = Duration::from_micros(bytes.saturating_mul(1_000_000) / bytes_per_s.max(1));
        while !left.is_zero() && !self.progress.is_stopped() {
            let pause = left.min(LOOK_PAUSE);
            thread::sleep(pause);
            left -= pause;
        }
    }
}

fn object_name(manifest: &SignedManifest) -> String {
    manifest.manifest().object_name()
}

/// Compares a part with its digest, and the tree's roots with the manifest. Returns its bytes; none behind the last part.
fn check_part(stored: &StoredArchive, part: usize) -> Result<Option<u64>, StoredError> {
    let outline = stored.outline();
    let Some(entry) = outline.table().entries().get(part) else {
        if outline.table().roots().is_none() {
            return Err(stored.wrong(ArchiveError::Contents { what: "the roots" }));
        }
        return Ok(None);
    };
    let bytes = stored.part(entry)?;
    entry.check(&bytes).map_err(|error| stored.wrong(error))?;
    if entry.kind == PartKind::Roots {
        check_roots(outline.manifest().manifest(), &bytes).map_err(|error| stored.wrong(error))?;
    }
    Ok(Some(bytes.len() as u64))
}
