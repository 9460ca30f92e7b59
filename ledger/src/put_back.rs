//! Frames that were acknowledged and that the disk did not have: from quarantine back to their places in the log.
//!
//! Anybody who can write into the folder can put a file there. So a file counts only where the log, read with its bytes in their
//! place, is whole and goes on further than it does without them: every frame is linked to the one before and signed by the
//! segment's own key, which no one has any more, and every segment behind goes on from there. A frame that others have taken the
//! place of since cannot be of that log. What others remember of the ledger is compared before a byte is written.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitacora_formats::limits::MAX_SEGMENT_BYTES;
use bitacora_formats::{Decompressor, Keyring};

use crate::disk::{Disk, OpenMode, Patch, PatchedDisk};
use crate::environment::Environment;
use crate::error::OpenError;
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::opening::{self, OnLoss, append_own};
use crate::options::Options;
use crate::quarantine::{self, UnwrittenRecord};
use crate::remembered::{Remembered, refuse_other_name};
use crate::replay::{Replay, Replayed, TailState};
use crate::segments::{SEGMENTS, segments_folder};
use crate::service_events::ServiceEvent;
use crate::shared::Shared;

/// Files of quarantine that are looked at; a loss leaves one for each segment that was written since the head before.
const MAX_FILES: usize = 16;

/// What would be put back: the log with it is whole.
pub(crate) struct PutBack {
    records: Vec<UnwrittenRecord>,
    patches: BTreeMap<PathBuf, Patch>,
    /// Positions that the log has with it, and not without.
    pub(crate) positions: Range<u64>,
    /// The ledger as it would be.
    environment: Environment,
    replayed: Replayed,
}

impl PutBack {
    /// Looks for what continues a log that ends so; `None` where nothing in quarantine does.
    pub(crate) fn look(
        environment: &Environment,
        ledger: &Path,
        keyring: &Arc<Keyring>,
        replayed: &Replayed,
    ) -> Result<Option<Self>, OpenError> {
        let disk = &environment.disk;
        let in_step = |source| OpenError::Disk { what: "looking through the quarantine".to_owned(), source };
        let mut records = quarantine::unwritten(&**disk, ledger).map_err(in_step)?;
        records.truncate(MAX_FILES);
        let mut found = None;
        let (mut taken, mut patches) = (Vec::new(), BTreeMap::new());
        let mut head = replayed.head.position;
        for record in records {
            let path = segments_folder(ledger).join(&record.segment);
            let bytes =
                load(&**disk, &quarantine::folder(ledger).join(record.file_name())).map_err(in_step)?;
            let Some(bytes) = bytes else { continue };
            let mut tried = patches.clone();
            tried.insert(path, Patch { offset: record.offset, bytes: Arc::new(bytes) });
            let patched = PatchedDisk { disk: Arc::clone(disk), patches: tried.clone() };
            let environment = Environment { disk: Arc::new(patched), ..environment.clone() };
            let with = replay(&environment, ledger, keyring)?;
            let Some(replayed) = with.filter(|with| with.head.position > head) else { continue };
            head = replayed.head.position;
            taken.push(record);
            patches = tried;
            found = Some((environment, replayed));
        }
        let positions = replayed.head.position.get() + 1..head.get() + 1;
        Ok(found.map(|(environment, replayed)| Self {
            records: taken,
            patches,
            positions,
            environment,
            replayed,
        }))
    }

    /// What a ledger is refused for that lacks them.
    pub(crate) fn fault(&self) -> Fault {
        let (segment, offset) =
            self.records.first().map_or_else(Default::default, |one| (one.segment.clone(), one.offset));
        let Range { start, end } = self.positions;
        let file = self.records.first().map(UnwrittenRecord::file_name).unwrap_or_default();
        let what = format!(
            "positions {start} to {} were acknowledged and are not on the disk; they lie in quarantine/{file}: put them back with `bitacora recover --put-back`",
            end - 1
        );
        Fault { file: format!("{SEGMENTS}/{segment}"), offset, first_position: start, what }
    }

    /// Compares the ledger, as it would be, with what others remember of it.
    pub(crate) fn compare(
        &mut self,
        ledger: &Path,
        keyring: &Keyring,
        options: &Options,
    ) -> Result<(), OpenError> {
        let (disk, replayed) = (&*self.environment.disk, &mut self.replayed);
        refuse_other_name(options.name.as_ref(), || replayed.name(disk, ledger, keyring))?;
        if let Some(heads) = &options.heads {
            let mut remembered = Remembered::recall(disk, ledger, keyring, heads, replayed)?;
            remembered.refuse_rollback(&mut replayed.tail)?;
        }
        match &replayed.tail {
            TailState::Corrupt(fault) => Err(OpenError::Corrupt(fault.clone())),
            _ => Ok(()),
        }
    }

    /// Writes them to their places. Returned `Ok` ⇒ durable, and what stood there lies in quarantine. A crash before leaves the log
    /// with some of them, all or none, and the same files in quarantine: the next try does the same.
    ///
    /// Syscalls: those of [`quarantine::keep`]; `openat`, `pwrite64`, `ftruncate`, `fsync`, and `fsync` of the folder.
    pub(crate) fn write(&self, disk: &dyn Disk, ledger: &Path) -> io::Result<()> {
        for (path, Patch { offset, bytes }) in &self.patches {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let file = match disk.open(path, OpenMode::Write) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    disk.open(path, OpenMode::CreateNew)?
                }
                opened => opened?,
            };
            let there = load_from(&*file, *offset)?;
            let kept = there.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let kept = there.get(..kept).unwrap_or_default();
            if !kept.is_empty() && kept != bytes.as_slice() {
                quarantine::keep(disk, ledger, &name, *offset, kept)?;
            }
            file.write_all_at(bytes, *offset)?;
            file.set_len(offset + bytes.len() as u64)?;
            file.sync_all()?;
        }
        disk.sync_folder(&segments_folder(ledger))
    }
}

/// Looks for frames that are to be put back. Where that was asked for they are, and `replayed` is the log with them; otherwise the
/// ledger is damaged where they belong, so that nothing is cut there and nothing takes their places.
pub(crate) fn face(
    environment: &Environment,
    ledger: &Path,
    keyring: &Arc<Keyring>,
    options: &Options,
    replayed: &mut Replayed,
    on_loss: OnLoss,
) -> Result<(), OpenError> {
    let in_step = |source| OpenError::Disk { what: "putting frames back".to_owned(), source };
    let disk = &*environment.disk;
    match (PutBack::look(environment, ledger, keyring, replayed)?, on_loss) {
        (Some(mut found), OnLoss::PutBack) => {
            found.compare(ledger, keyring, options)?;
            found.write(disk, ledger).map_err(in_step)?;
            let decompressor = Decompressor::new().map_err(io::Error::other).map_err(in_step)?;
            *replayed = Replay::new(environment, ledger, keyring, decompressor).run()?;
        }
        (Some(found), OnLoss::Refuse) => replayed.tail = TailState::Corrupt(found.fault()),
        (Some(found), OnLoss::Declare) => return Err(OpenError::Corrupt(found.fault())),
        (None, OnLoss::PutBack) => {
            // A crash may have come before the log said that all are back.
            let (back, others) = split(disk, ledger).map_err(in_step)?;
            if back.is_empty() || !others.is_empty() {
                return Err(OpenError::NothingToPutBack);
            }
        }
        (None, _) => {}
    }
    Ok(())
}

/// Has the log of an open ledger say which frames were put back. Files of others, which are none of this log, are named so.
pub(crate) fn record(shared: &Shared) {
    let (disk, ledger) = (&*shared.environment.disk, &*shared.folder);
    let recorded = split(disk, ledger).and_then(|(back, others)| {
        for record in &back {
            append_own(shared, &ServiceEvent::FramesPutBack(record)).map_err(io::Error::other)?;
            quarantine::mark_put_back(disk, ledger, record)?;
        }
        others.iter().try_for_each(|record| quarantine::mark_superseded(disk, ledger, record))
    });
    if let Err(error) = recorded {
        tracing::warn!(%error, "frames that were put back could not be recorded; the next opening does it");
    }
}

/// Files of quarantine whose bytes stand in their places, and the others.
fn split(disk: &dyn Disk, ledger: &Path) -> io::Result<(Vec<UnwrittenRecord>, Vec<UnwrittenRecord>)> {
    let is_back = |record: &UnwrittenRecord| -> io::Result<bool> {
        let bytes = load(disk, &quarantine::folder(ledger).join(record.file_name()))?;
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { return Ok(false) };
        let read = disk.open(&segments_folder(ledger).join(&record.segment), OpenMode::Read);
        let there = read.and_then(|file| load_from(&*file, record.offset)).unwrap_or_default();
        // To its last byte: a part of what stands there was never missing.
        let rest = there.strip_prefix(bytes.as_slice());
        Ok(rest.is_some_and(|rest| rest.iter().all(|byte| *byte == 0)))
    };
    let (mut back, mut others) = (Vec::new(), Vec::new());
    for record in quarantine::unwritten(disk, ledger)? {
        if is_back(&record)? { back.push(record) } else { others.push(record) }
    }
    Ok((back, others))
}

/// The log as it is read, if it is whole.
fn replay(
    environment: &Environment,
    ledger: &Path,
    keyring: &Arc<Keyring>,
) -> Result<Option<Replayed>, OpenError> {
    let what = || "preparing to read".to_owned();
    let decompressor = Decompressor::new().map_err(io::Error::other);
    let decompressor = decompressor.map_err(|source| OpenError::Disk { what: what(), source })?;
    match Replay::new(environment, ledger, keyring, decompressor).run() {
        Ok(replayed) if matches!(replayed.tail, TailState::Corrupt(_)) => Ok(None),
        Ok(replayed) => Ok(Some(replayed)),
        // Not a log that goes on, or none of this ledger's.
        Err(OpenError::Corrupt(_) | OpenError::Keyring { .. } | OpenError::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file, unless it is longer than what it is to hold can be.
fn load(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = disk.open(path, OpenMode::Read)?;
    let is_possible = file.len()? <= MAX_SEGMENT_BYTES as u64;
    if is_possible { load_from(&*file, 0).map(Some) } else { Ok(None) }
}

fn load_from(file: &dyn crate::disk::DiskFile, offset: u64) -> io::Result<Vec<u8>> {
    let rest = file.len()?.saturating_sub(offset);
    let mut bytes = vec![0; usize::try_from(rest).unwrap_or(usize::MAX).min(MAX_SEGMENT_BYTES)];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

impl Ledger {
    /// Opens a ledger whose disk turned out not to have frames that were acknowledged, and puts them back from quarantine to their
    /// places. They are believed where the log is whole with them and goes on further, and where what others remember of the ledger
    /// is not against it.
    ///
    /// # Errors
    /// As [`Ledger::open`], and [`OpenError::NothingToPutBack`]; nothing was changed then.
    pub fn put_back(
        environment: &Environment,
        folder: &Path,
        keyring: Arc<Keyring>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let opened = opening::put_back(environment, folder, keyring, options);
        opened.map(|inner| Self { inner: Arc::new(inner) })
    }
}
