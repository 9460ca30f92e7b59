//! The archiver's run: plan, pack, store, read back, record, keep, release.
//! Each step rests on the one before. After a crash or a failure, the next run goes on where this one ended, and does nothing twice.

mod archive_scrub;
mod leftovers;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bitacora_archive_format::{ArchiveError, ArchiveRange, Revision, SignedManifest};
use bitacora_formats::{Keyring, LedgerOrigin, Micros, Position};
use bitacora_ledger::{
    AppendError, ArchiveAccess, Environment, FolderLock, Ledger, ReadError, RecordedArchives, ReleaseError,
    ReleaseExtent, SealedArchive,
};
use sha2::{Digest, Sha256};

use crate::archive_store::{ArchiveStoreError, Objects};
use crate::error::{ArchiverError, ManifestFolderError, StoredError};
use crate::manifest_folder::{ManifestFolder, archived_through};
use crate::manifest_recovery::ManifestRecovery;
use crate::packing_file::PackingFile;
use crate::packing_job::{PackedArchive, PackingJob};
use crate::plan::{ARCHIVE_UNIT_EVENTS, DueRange, PlanInputs, Rules, Times, plan};
use crate::read_back::ReadBack;
use crate::state_at_end::StateDigest;
use crate::stored_archive::StoredArchive;
use crate::throttle::{ArchivePace, ArchiveProgress};
use crate::verification::Verification;

pub use self::archive_scrub::ArchiveScrub;

/// The pause between two looks at whether the log is proven.
const PROOF_PAUSE: Duration = Duration::from_millis(20);

/// The reason for releasing segments, as the log records it.
const RELEASE_REASON: &str = "every event of them was read back from an archive";

/// The archiver of one ledger.
pub struct Archiver {
    pub(crate) ledger: Ledger,
    pub(crate) folder: ManifestFolder,
    pub(crate) environment: Environment,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) objects: Arc<dyn Objects>,
    /// The store in which archives are put, in the words of the configuration.
    store: String,
    pub(crate) progress: Arc<ArchiveProgress>,
    /// The archives that the log names, as far as it was read.
    pub(crate) recorded: Mutex<RecordedArchives>,
}

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct ArchiveRun {
    /// The rules of what is due.
    pub rules: Rules,
    /// The share of the machine that it takes.
    pub pace: ArchivePace,
    /// The release of segments whose every event is archived.
    pub release: Release,
}

/// The release of segments whose every event is archived. None is released before the log is proven since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// They stay.
    Never,
    /// They go if the log is proven by then; a later run sees to them otherwise.
    IfProven,
    /// They go as soon as it is.
    OnceProven,
}

/// An archive that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedArchive {
    /// Its name in the store.
    pub name: String,
    /// The range that it holds.
    pub range: ArchiveRange,
    /// Bytes of it.
    pub bytes: u64,
    /// `true` if it was there already, whole, from a run that ended before it was recorded.
    pub was_there: bool,
}

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The archives, in order.
    pub archived: Vec<AcceptedArchive>,
    /// The segments that were let go.
    pub released: Option<ReleaseExtent>,
    /// `true` if segments would have been let go, had the log been proven since it was opened.
    pub is_unproven: bool,
}

impl Archiver {
    /// Archives the ledger in this folder, which is open for writing, into a store that is called `store` in the log. Nothing
    /// is done yet.
    #[must_use]
    pub fn new(
        ledger: Ledger,
        folder: &Path,
        environment: &Environment,
        keyring: &Arc<Keyring>,
        objects: Arc<dyn Objects>,
        store: String,
    ) -> Self {
        let environment = ledger.environment_of(folder, environment);
        Self {
            ledger,
            folder: ManifestFolder::of(folder),
            environment,
            keyring: Arc::clone(keyring),
            objects,
            store,
            progress: Arc::default(),
            recorded: Mutex::default(),
        }
    }

    /// The same, counted where others are counted too.
    #[must_use]
    pub fn with_progress(self, progress: Arc<ArchiveProgress>) -> Self {
        Self { progress, ..self }
    }

    /// Returns the progress of archiving, through which it can also be stopped.
    #[must_use]
    pub fn progress(&self) -> &Arc<ArchiveProgress> {
        &self.progress
    }

    /// Returns the ranges that are due by these rules, without archiving them.
    ///
    /// # Errors
    /// [`ArchiverError`].
    pub fn plan(&self, rules: &Rules) -> Result<Vec<DueRange>, ArchiverError> {
        let kept = self.known_manifests(ArchiveAccess::Reading)?;
        self.plan_after(archived_through(&kept), rules)
    }

    /// Archives what is due, one archive after the other. Returned `Ok` ⇒ each of them was read back from the store and compared
    /// with the ledger, and is recorded and kept.
    ///
    /// # Errors
    /// [`ArchiverError`]. Earlier archives stand; another run goes on.
    pub fn run(&self, run: &ArchiveRun) -> Result<Outcome, ArchiverError> {
        let outcome = self.run_locked(run);
        self.progress.ended(matches!(&outcome, Err(error) if !matches!(error, ArchiverError::Stopped)));
        outcome
    }

    fn run_locked(&self, run: &ArchiveRun) -> Result<Outcome, ArchiverError> {
        let _alone = self.lock()?;
        let origin = self.origin()?;
        let mut kept = self.known_manifests(ArchiveAccess::Writing)?;
        if let Some(last) = kept.last() {
            // A run before may have failed to make it durable, and a second sync of what was lost then would prove nothing.
            self.keep(last)?;
        }
        let mut outcome = Outcome::default();
        let mut due = self.plan_after(archived_through(&kept), &run.rules)?;
        if !due.is_empty() {
            self.try_to_remove_leftovers();
        }
        while let Some(next) = due.first() {
            let left = due.iter().map(DueRange::events).sum();
            self.progress.stands(archived_through(&kept), left);
            let range = ArchiveRange::new(next.first.get(), next.last.get());
            let mut range = range.map_err(ArchiverError::Range)?;
            let (archived, manifest) = loop {
                match self.archive(&origin, range, kept.last(), run.pace) {
                    Err(ArchiverError::Pack { source, .. })
                        if source.is_too_much() && range.events() > ARCHIVE_UNIT_EVENTS =>
                    {
                        range = first_half(range);
                    }
                    archived => break archived?,
                }
            };
            kept.push(manifest);
            self.progress.accepted(archived.bytes);
            outcome.archived.push(archived);
            due = self.plan_rest(due, archived_through(&kept), &run.rules)?;
        }
        self.progress.stands(archived_through(&kept), 0);
        let through = Position::new(archived_through(&kept)).filter(|_| run.release != Release::Never);
        if let Some(through) = through {
            while run.release == Release::OnceProven && self.is_being_proven()? {
                thread::sleep(PROOF_PAUSE);
            }
            self.release(through, &kept, run.pace, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Returns the rest of a plan. If an archive was made shorter than planned, the rest is planned anew.
    fn plan_rest(
        &self,
        due: Vec<DueRange>,
        archived: u64,
        rules: &Rules,
    ) -> Result<Vec<DueRange>, ArchiverError> {
        let mut rest = due.into_iter();
        match rest.next() {
            Some(first) if first.last.get() == archived => Ok(rest.collect()),
            _ => self.plan_after(archived, rules),
        }
    }

    /// The steps of one archive, in their order.
    fn archive(
        &self,
        origin: &LedgerOrigin,
        range: ArchiveRange,
        before: Option<&SignedManifest>,
        pace: ArchivePace,
    ) -> Result<(AcceptedArchive, SignedManifest), ArchiverError> {
        let name = range.object_name(origin.ledger, origin.generation, Revision::FIRST);
        let (stored, packed_state) = match self.stored(&name)? {
            Some(stored) => (stored, None),
            None => {
                let packed = self.pack(origin, range, before, pace)?;
                (self.store_file(&name, &packed.file, &packed.manifest)?, Some(packed.state))
            }
        };
        self.accept(range, before, &stored, packed_state, pace)?;
        // It may be from a run that ended before its store had said that it is kept.
        self.objects.settle(&name)?;
        let manifest = stored.outline().manifest().clone();
        self.record(&name, range, &stored)?;
        self.keep(&manifest)?;
        let was_there = packed_state.is_none();
        Ok((AcceptedArchive { name, range, bytes: stored.bytes(), was_there }, manifest))
    }

    /// The archive of this name, if the store has one.
    fn stored(&self, name: &str) -> Result<Option<StoredArchive>, ArchiverError> {
        match StoredArchive::open(&self.objects, name, Some(self.keyring.signing_chain())) {
            Err(StoredError::Store(ArchiveStoreError::Missing { .. })) => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }

    fn pack(
        &self,
        origin: &LedgerOrigin,
        range: ArchiveRange,
        before: Option<&SignedManifest>,
        pace: ArchivePace,
    ) -> Result<PackedArchive, ArchiverError> {
        let job = PackingJob {
            ledger: &self.ledger,
            environment: &self.environment,
            keyring: &self.keyring,
            origin,
            before: before.map(SignedManifest::manifest),
            pace,
            progress: &self.progress,
        };
        job.pack(range, self.folder.path())
    }

    /// Puts it into the store and opens what is there then.
    pub(crate) fn store_file(
        &self,
        name: &str,
        file: &PackingFile,
        manifest: &SignedManifest,
    ) -> Result<StoredArchive, ArchiverError> {
        let mut read = |offset: u64, buffer: &mut [u8]| file.read(offset, buffer);
        match self.objects.create(name, file.bytes(), &mut read) {
            // By this very write, if its answer was lost: what is there is read back in any case.
            Ok(()) | Err(ArchiveStoreError::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let stored = StoredArchive::open(&self.objects, name, Some(self.keyring.signing_chain()))?;
        if stored.outline().manifest() != manifest {
            let (object, position) = (stored.shown(), manifest.manifest().range.first());
            return Err(ArchiverError::Differs { object, position, what: "the manifest" });
        }
        Ok(stored)
    }

    /// Checks that the archive in the store is this ledger's, holds these positions, and joins the archive before.
    fn accept(
        &self,
        range: ArchiveRange,
        before: Option<&SignedManifest>,
        stored: &StoredArchive,
        packed: Option<Option<StateDigest>>,
        pace: ArchivePace,
    ) -> Result<(), ArchiverError> {
        let manifest = stored.outline().manifest().manifest();
        if manifest.range != range {
            let (expected, found) = (format!("positions {range}"), format!("positions {}", manifest.range));
            return Err(stored.wrong(ArchiveError::Other { expected, found }).into());
        }
        if let Some(before) = before {
            manifest.follows(before.manifest()).map_err(|error| stored.wrong(error))?;
        }
        let read_back = ReadBack {
            ledger: &self.ledger,
            keyring: &self.keyring,
            stored,
            before: before.map(SignedManifest::manifest),
            packed,
            pace,
            progress: &self.progress,
        };
        read_back.check()
    }

    pub(crate) fn keep(&self, manifest: &SignedManifest) -> Result<(), ArchiverError> {
        let kept = self.folder.keep(&*self.environment.disk, manifest);
        kept.map_err(|source| ArchiverError::Disk { range: manifest.manifest().range, source })
    }

    pub(crate) fn record(
        &self,
        name: &str,
        range: ArchiveRange,
        stored: &StoredArchive,
    ) -> Result<(), ArchiverError> {
        let manifest = stored.outline().manifest().note().to_string();
        let recorded = self.ledger.record_archive(&SealedArchive {
            name,
            first: range.first(),
            last: range.last(),
            bytes: stored.bytes(),
            manifest: Sha256::digest(manifest.as_bytes()).into(),
            store: &self.store,
        });
        match recorded {
            // A run before this one came as far as that; the store was called otherwise then.
            Err(AppendError::IdReused { .. }) => Ok(()),
            recorded => Ok(recorded?),
        }
    }

    /// Returns `true` if it is worth waiting until every byte of the log was seen to be right since it was opened. It is not if one was
    /// seen that is not, or if the log takes nothing for good: then nothing is let go either.
    fn is_being_proven(&self) -> Result<bool, ArchiverError> {
        if self.progress.is_stopped() {
            return Err(ArchiverError::Stopped);
        }
        let status = self.ledger.status();
        Ok(!status.is_proven && !status.writer.is_final())
    }

    /// Lets go of segments, if there are any to let go, once all archives of their events were seen to be there. Those archives are then
    /// all that is left of the events. This run read back some of them; those of earlier runs may have gone or rotted since.
    fn release(
        &self,
        through: Position,
        kept: &[SignedManifest],
        pace: ArchivePace,
        outcome: &mut Outcome,
    ) -> Result<(), ArchiverError> {
        if self.ledger.has_releasable(through) {
            let released = self.ledger.released_through().map_or(0, Position::get);
            let needed = kept.iter().filter(|one| one.manifest().range.last().get() > released);
            for manifest in needed {
                let is_of_this_run =
                    outcome.archived.iter().any(|archived| archived.range == manifest.manifest().range);
                if !is_of_this_run {
                    self.see_again(manifest, pace)?;
                }
            }
        }
        match self.ledger.release(through, RELEASE_REASON) {
            Ok(None) => Ok(()),
            Ok(Some(released)) => {
                self.progress.released(released.bytes);
                outcome.released = Some(released);
                Ok(())
            }
            Err(ReleaseError::NotProven) => {
                outcome.is_unproven = true;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks whether the store has every archive of events that were let go, and notes the first one that is missing in the progress. Nothing
    /// is read but whether it is there.
    ///
    /// # Errors
    /// The store does not answer, or the manifests cannot be read; then nothing is noted.
    pub fn look(&self) -> Result<(), ArchiverError> {
        let released = self.ledger.released_through().map_or(0, Position::get);
        let mut missing = None;
        for manifest in self.known_manifests(ArchiveAccess::Reading)? {
            if manifest.manifest().range.first().get() > released {
                break;
            }
            let name = manifest.manifest().object_name();
            match self.objects.version(&name) {
                Ok(_) => {}
                Err(ArchiveStoreError::Missing { .. }) => {
                    missing = Some(self.objects.shown(&name));
                    break;
                }
                Err(error) => return Err(StoredError::from(error).into()),
            }
        }
        self.progress.looked(missing);
        Ok(())
    }

    /// Reads an archive of an earlier run to its last byte.
    fn see_again(&self, manifest: &SignedManifest, pace: ArchivePace) -> Result<(), ArchiverError> {
        let name = manifest.manifest().object_name();
        let stored = StoredArchive::open(&self.objects, &name, Some(self.keyring.signing_chain()))?;
        if stored.outline().manifest() != manifest {
            let (object, position) = (stored.shown(), manifest.manifest().range.first());
            return Err(ArchiverError::Differs {
                object,
                position,
                what: "the manifest, which the ledger kept",
            });
        }
        Verification::new(&stored, pace, &self.progress).without_keys()
    }

    pub(crate) fn lock(&self) -> Result<Box<dyn FolderLock>, ArchiverError> {
        let disk = &*self.environment.disk;
        let made = self.folder.make(disk).and_then(|()| self.folder.lock(disk));
        made.map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => ArchiverError::Busy,
            _ => ManifestFolderError::Disk { file: self.folder.path().display().to_string(), source }.into(),
        })
    }

    /// The manifests of all archives; what the folder has lost of them is brought back from the store.
    pub(crate) fn known_manifests(
        &self,
        access: ArchiveAccess,
    ) -> Result<Vec<SignedManifest>, ArchiverError> {
        let (ledger, signers) = (self.ledger.id(), self.keyring.signing_chain());
        let (objects, disk, folder) = (&self.objects, &*self.environment.disk, &self.folder);
        Ok(ManifestRecovery { objects, disk, folder, ledger, signers, access }.whole()?)
    }

    fn origin(&self) -> Result<LedgerOrigin, ArchiverError> {
        let key = self.ledger.verifier_key().ok_or(ArchiverError::Unsigned)?;
        key.name().parse().map_err(|_| ArchiverError::Unsigned)
    }

    fn plan_after(&self, archived: u64, rules: &Rules) -> Result<Vec<DueRange>, ArchiverError> {
        let head = self.ledger.head().position;
        let inputs = PlanInputs {
            archived,
            head,
            newest_frame: self.ledger.frame_of(head)?.first,
            now: self.environment.clock.now(),
        };
        let due = plan(rules, &inputs, &mut LedgerTimes(&self.ledger))?;
        self.progress.stands(archived, due.iter().map(DueRange::events).sum());
        Ok(due)
    }
}

/// The first half of a range, in whole units; at least one.
fn first_half(range: ArchiveRange) -> ArchiveRange {
    let units = (range.events() / ARCHIVE_UNIT_EVENTS / 2).max(1);
    let last = range.tree_before() + units * ARCHIVE_UNIT_EVENTS;
    ArchiveRange::new(range.first().get(), last).unwrap_or(range)
}

/// The recording times of a ledger's events.
struct LedgerTimes<'a>(&'a Ledger);

impl Times for LedgerTimes<'_> {
    type Error = ReadError;

    fn time_of(&mut self, position: Position) -> Result<Micros, ReadError> {
        let mut time = None;
        self.0.frames(position, position, &mut |frame| {
            time = Some(frame.time);
            std::ops::ControlFlow::Break(())
        })?;
        time.ok_or(ReadError::PastHead { asked: position, head: self.0.head().position })
    }

    fn first_at(&mut self, time: Micros) -> Result<Option<Position>, ReadError> {
        self.0.first_at(time)
    }
}
